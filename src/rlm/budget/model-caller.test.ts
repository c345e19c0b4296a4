import { describe, expect, it } from "vitest";
import type { Model, ModelReply } from "../model.js";
import { functionModel } from "../models/function-model.js";
import { Trace } from "../trace/trace.js";
import type { Budget } from "./budget.js";
import { Ledger } from "./ledger.js";
import { ModelCaller } from "./model-caller.js";

const messages = [
  { role: "user", content: "How many words may a question have? ".repeat(20) },
] as const;

async function ask(count: number, inputTokens: (counted: number) => number) {
  const caller = await ModelCaller.open(new Ledger({ tokens: 100_000 }));
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
  const prompts = trace.events.filter(({ type }) => type === "model.request");
  return { over, prompts, bounds: prompts.map((event) => "maxTokens" in event && event.maxTokens) };
}

const WIDE = 64;

/** Asks many times at once; gives how many were under way together until each was answered. */
async function askWidely(
  budget: Budget,
  answer: (call: number, counted: number) => ModelReply | Error,
) {
  const caller = await ModelCaller.open(new Ledger(budget));
  await using trace = await Trace.open();
  const together: number[] = [];
  let calls = 0;
  let underWay = 0;
  const model: Model = {
    name: "wordy",
    price: { inputPerMillion: 1, outputPerMillion: 1 },
    async complete({ messages: asked }) {
      const call = calls++;
      underWay += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
      together[call] = underWay;
      underWay -= 1;
      const reply = answer(call, caller.tokensIn(asked));
      if (reply instanceof Error) throw reply;
      return reply;
    },
  };
  const question = { model, messages, kind: "sub", depth: 0, among: WIDE } as const;
  const results = await Promise.allSettled(
    Array.from({ length: WIDE }, () => caller.ask({ ...question, span: trace.root })),
  );
  return { results, together, usage: caller.ledger.usage };
}

function counting(factor: number) {
  return (_call: number, counted: number): ModelReply => ({
    text: "Many.",
    usage: { inputTokens: counted * factor, outputTokens: 10, isEstimate: false },
    finish: "stop",
    model: "wordy",
  });
}

describe("many questions at once to a model that has not said how it counts", () => {
  it("let one go first, and stay in the budget however it counts", async () => {
    for (const factor of [1, 3, 12]) {
      const dollars = 0.02;
      const { together, usage, results } = await askWidely({ dollars }, counting(factor));
      expect(together[0]).toBe(1);
      expect(Math.max(...together)).toBeGreaterThan(1);
      expect(usage.cost).toBeLessThanOrEqual(dollars);
      expect(results.some(({ status }) => status === "fulfilled")).toBe(true);
    }
  });

  it("do not wait for each other where the first one fails", async () => {
    const { together, results } = await askWidely({ tokens: 1_000_000 }, (call, counted) =>
      call === 0 ? new Error("busy") : counting(1)(call, counted),
    );
    expect(together[0]).toBe(1);
    expect(together[1]).toBeGreaterThan(WIDE / 2);
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  });

  it("all go at once where nothing counts tokens", async () => {
    const { together } = await askWidely({ calls: 1000 }, counting(1));
    expect(together[0]).toBe(WIDE);
  });
});

describe("what is reserved for a prompt", () => {
  it("is enough where a model counts more than is counted here", async () => {
    const { over } = await ask(3, (counted) => Math.floor(counted * 1.5));
    expect(over).toEqual([0, 0, 0]);
  });

  it("is enough where a model counts much more: at first by bytes, then as it was seen to", async () => {
    const { over, bounds } = await ask(3, (counted) => counted * 3);
    expect(over).toEqual([0, 0, 0]);
    expect(bounds[0]).toBeGreaterThan(0);
  });

  it("is what a text before each prompt adds, too", async () => {
    const { over } = await ask(3, (counted) => counted + 150);
    expect(over).toEqual([0, 0, 0]);
  });

  it("is told as it was counted", async () => {
    const { prompts } = await ask(2, (counted) => counted * 2);
    const [first, second] = prompts.map((event) => "promptTokens" in event && event.promptTokens);
    expect(first).toBe(second);
  });
});
