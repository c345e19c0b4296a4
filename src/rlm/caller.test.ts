import { describe, expect, it } from "vitest";
import { Caller } from "./caller.js";
import { Ledger } from "./ledger.js";
import { functionModel } from "./models/function-model.js";
import { Trace } from "./trace.js";

const messages = [
  { role: "user", content: "How many words may a question have? ".repeat(20) },
] as const;

async function ask(count: number, inputTokens: (counted: number) => number) {
  const caller = await Caller.open(new Ledger({ tokens: 100_000 }));
  await using trace = await Trace.open();
  const counted = caller.tokensIn(messages);
  // It writes as much as it may, so that nothing of what was reserved is left over.
  const model = functionModel(({ maxTokens = 0 }) => ({
    text: "Many.",
    usage: { inputTokens: inputTokens(counted), outputTokens: maxTokens, isEstimate: false },
    finish: "length",
    model: "wordy",
  }));
  const over: number[] = [];
  for (let call = 0; call < count; call += 1) {
    await caller.ask({ model, messages, kind: "sub", depth: 0, span: trace.root });
    over.push(caller.ledger.usage.overshoot.tokens);
  }
  return { over, prompts: trace.events.filter(({ type }) => type === "model.request") };
}

describe("what is reserved for a prompt", () => {
  it("is enough where a model counts more than is counted here", async () => {
    const { over } = await ask(3, (counted) => Math.floor(counted * 1.5));
    expect(over).toEqual([0, 0, 0]);
  });

  it("is learned from a model that counts much more", async () => {
    const { over } = await ask(3, (counted) => counted * 2);
    expect(over[0]).toBeGreaterThan(0);
    expect(over).toEqual([over[0], over[0], over[0]]);
  });

  it("is told as it was counted", async () => {
    const { prompts } = await ask(2, (counted) => counted * 2);
    const [first, second] = prompts.map((event) => "promptTokens" in event && event.promptTokens);
    expect(first).toBe(second);
  });
});
