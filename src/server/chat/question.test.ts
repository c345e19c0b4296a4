import { describe, expect, it } from "vitest";
import type { ChatMessage } from "./chat-request.js";
import { HttpError } from "./http-error.js";
import { questionOf } from "./question.js";

const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const system = (content: string): ChatMessage => ({ role: "system", content });

describe("a conversation as a question", () => {
  it("is the question alone where nothing else was said", () => {
    const alone = { query: "How many?", context: undefined };
    expect(questionOf([user("How many?")], false)).toEqual(alone);
    expect(questionOf([user("How many?")], true)).toEqual(alone);
  });

  it("shows what was said before, and has it as context too", () => {
    const said = [user("Who is Ada?"), assistant("A countess."), user("When was she born?")];
    const { query, context } = questionOf(said, false);
    expect(query).toContain("user: Who is Ada?\n\nassistant: A countess.");
    expect(query).toMatch(/Answer the last message:\n\nWhen was she born\?$/);
    expect(query).toContain('a list of {"role", "content"}');
    expect(context).toEqual(said.slice(0, 2));
  });

  it("leaves a context of the server's own alone", () => {
    const { query, context } = questionOf([user("Who?"), assistant("Ada."), user("When?")], true);
    expect(query).toContain("which is not in context:\n\nuser: Who?\n\nassistant: Ada.");
    expect(context).toBeUndefined();
  });

  it("takes system messages for instructions, wherever they stand", () => {
    const { query, context } = questionOf(
      [system("Be brief."), user("Why?"), system("In Latin.")],
      false,
    );
    expect(query).toBe(
      "Follow these instructions:\n\nBe brief.\n\nIn Latin.\n\nAnswer the last message:\n\nWhy?",
    );
    expect(context).toBeUndefined();
  });

  it("puts a long last message into the context, and shows its beginning and end", () => {
    const long = `First, ${"x".repeat(30_000)} what is it?`;
    const { query, context } = questionOf([user("Hello"), assistant("Hi"), user(long)], false);
    expect(context).toEqual([user("Hello"), assistant("Hi"), user(long)]);
    expect(query).toContain(
      'Answer the last message, which is too long to be shown. It is context[-1]["content"]',
    );
    expect(query).toContain("First, xxx");
    expect(query).toMatch(/what is it\?$/);
    expect(query.length).toBeLessThan(6_000);
  });

  it("puts long instructions into the context, and keeps the places of the others right", () => {
    const long = "rule ".repeat(10_000);
    const essay = "word ".repeat(1_000);
    const { query, context } = questionOf([user(essay), system(long), user("So?")], false);
    expect(context).toEqual([system(long), user(essay)]);
    expect(query).toContain('context[0]["content"]. In short');
    expect(query).toContain('not shown here, whole in context[1]["content"]]');
  });

  it("is bounded, and says what is not shown", () => {
    const many = Array.from({ length: 200 }, (_, index) => user(`${index} ${"y".repeat(500)}`));
    const { query, context } = questionOf([...many, user("And now?")], false);
    expect(query.length).toBeLessThan(10_000);
    expect(query).toMatch(/\[18\d earlier messages are not shown\]/);
    expect(query).toContain("user: 199 yyy");
    expect(context).toHaveLength(200);
  });

  it("never cuts a character in half", () => {
    const { query } = questionOf([user(`a${"😀".repeat(20_000)}`)], false);
    expect(query.isWellFormed()).toBe(true);
  });

  it.each([
    ["nothing of the user", [system("Be brief.")], false],
    ["an empty question", [user("  ")], false],
    ["the model's own words at the end", [user("Who?"), assistant("Well,")], false],
    ["a long question beside a context", [user("x".repeat(20_001))], true],
    ["long instructions beside a context", [system("x".repeat(20_001)), user("a")], true],
  ])("refuses %s", (_, messages, hasContext) => {
    expect(() => questionOf(messages, hasContext)).toThrow(HttpError);
  });
});
