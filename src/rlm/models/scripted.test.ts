import { describe, expect, it } from "vitest";
import type { Model } from "../model.js";
import { failureOf } from "./provider.case.test.js";
import { scripted } from "./scripted.js";

const say = (model: Model, content: string, more = {}) =>
  model.complete({ messages: [{ role: "user", content }], ...more });

describe("scripted", () => {
  it("answers in order, remembers what was asked and says when it has no more", async () => {
    const model = scripted(["one", { text: "two", finish: "length", usage: { outputTokens: 9 } }]);
    const heard: string[] = [];
    const messages = [{ role: "user" as const, content: "first" }];
    const onText = (piece: string) => heard.push(piece);
    expect((await model.complete({ messages, maxTokens: 5, onText })).text).toBe("one");
    messages.push({ role: "user", content: "later" });
    expect(await say(model, "second")).toMatchObject({
      text: "two",
      finish: "length",
      model: "scripted",
      usage: { outputTokens: 9, isEstimate: true },
    });
    expect(model.left).toBe(0);
    const error = await failureOf(say(model, "third"));
    expect(error).toMatchObject({ code: "NOT_FOUND", details: { request: 3, left: 0 } });
    expect(error.message).toBe('the script has no answer to request 3: "third"');
    expect(heard).toEqual(["one"]);
    expect(model.requests).toEqual([
      { messages: [{ role: "user", content: "first" }], maxTokens: 5 },
      { messages: [{ role: "user", content: "second" }] },
      { messages: [{ role: "user", content: "third" }] },
    ]);
  });

  it("answers by what is asked, also to many at once", async () => {
    const asks = (word: string) => ({
      when: ({ messages }: { messages: readonly { content: string }[] }) =>
        messages.some(({ content }) => content.includes(word)),
    });
    const model = scripted([
      { text: "a tree", ...asks("green") },
      { text: ({ messages }) => `${messages[0]?.content}?`, repeat: true, ...asks("what") },
      { text: "the first of the others", delay: 5 },
      { text: new Error("down"), ...asks("broken") },
    ]);
    const asked = ["what 1", "something", "green", "what 2", "what 3"];
    const replies = await Promise.all(asked.map((content) => say(model, content)));
    expect(replies.map(({ text }) => text)).toEqual([
      "what 1?",
      "the first of the others",
      "a tree",
      "what 2?",
      "what 3?",
    ]);
    expect(model.left).toBe(1);
    const error = await failureOf(say(model, "something else"));
    expect(error.remedy).toContain("None of the answers that are left fits");
    expect((await failureOf(say(model, "broken"))).message).toBe("the model failed: down");
    expect(model.left).toBe(0);
  });

  it("stops waiting when it is not wanted any more", async () => {
    const controller = new AbortController();
    const model = scripted([{ text: "late", delay: 60_000 }]);
    const asked = say(model, "a", { signal: controller.signal });
    setTimeout(() => controller.abort(), 10);
    expect(await failureOf(asked)).toMatchObject({ code: "ABORTED" });
  });
});
