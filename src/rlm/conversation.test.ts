import { describe, expect, it } from "vitest";
import { Conversation } from "./conversation.js";

function talkOf(turns: number): Conversation {
  const conversation = new Conversation();
  conversation.begin("system", "first?");
  for (let turn = 1; turn <= turns; turn += 1) {
    conversation.hear(`code ${turn}`);
    conversation.tell(`output ${turn}`);
  }
  return conversation;
}

const shapeOf = ({ messages }: Conversation) => messages.map(({ role }) => role).join(" ");

describe("a conversation that is folded", () => {
  it("has one summary, however often that happens", () => {
    const conversation = talkOf(2);
    for (const number of [1, 2, 3]) {
      conversation.fold(`summary ${number}`);
      conversation.hear("code");
      conversation.tell("output");
    }
    const [, question] = conversation.messages;
    expect(question?.content).toMatch(/^first\?[\s\S]*summary 3$/);
    expect(question?.content).not.toContain("summary 2");
  });

  it("ends with the question, where nothing was said about it yet", () => {
    const conversation = talkOf(2);
    conversation.hear("FINAL(1)");
    conversation.begin("system", "second?");
    expect(conversation.foldable).toBe(6);
    conversation.fold("summary");
    expect(shapeOf(conversation)).toBe("system user");
    expect(conversation.messages[1]?.content).toMatch(/^second\?[\s\S]*summary$/);
    expect(conversation.foldable).toBe(0);
  });

  it("keeps the last exchange about the question", () => {
    const conversation = talkOf(3);
    expect(conversation.foldable).toBe(4);
    conversation.fold("summary");
    expect(shapeOf(conversation)).toBe("system user assistant user");
    expect(conversation.messages.at(-1)?.content).toBe("output 3");
  });

  it("leaves alone what was sent before", () => {
    const conversation = talkOf(1);
    const sent = conversation.messages;
    conversation.tell("more");
    conversation.hear("answer");
    expect(sent.map(({ content }) => content)).toEqual(["system", "first?", "code 1", "output 1"]);
  });
});
