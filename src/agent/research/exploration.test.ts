import { describe, expect, it } from "vitest";
import { type AgentCall, agentCallSchema } from "../../protocol/agent/messages.js";
import { loadTokenizer } from "../observation/tokens.js";
import { ExplorationLog, strategyOf } from "./exploration.js";

let number = 0;
function call(name: string, more: Partial<AgentCall> = {}): AgentCall {
  number += 1;
  const preview = more.preview ?? "some text";
  return agentCallSchema.parse({
    id: `X${number}`,
    name,
    arguments: {},
    size: preview.length,
    preview,
    parents: [],
    seconds: 0.01,
    error: null,
    ...more,
  });
}

function logOf(...names: string[]): ExplorationLog {
  const log = new ExplorationLog();
  log.add(
    1,
    names.map((name) => call(name)),
  );
  return log;
}

describe("the strategy", () => {
  it.each([
    ["none", []],
    ["none", ["FINAL", "SHOW_VARS", "context_len", "mark_finding", "list_findings", "FINAL_VAR"]],
    ["scan", ["peek"]],
    ["scan", ["peek", "peek", "grep", "FINAL"]],
    ["search", ["grep"]],
    ["search", ["peek", "grep", "grep", "list_dir", "list_dir"]],
    ["mixed", ["peek", "grep"]],
    ["mixed", ["list_dir", "chunk_context"]],
    ["delegated", ["llm_call"]],
    ["delegated", ["grep", "grep", "peek", "llm_batch"]],
  ])("is %s after %j", (strategy, names) => {
    expect(logOf(...names).strategy).toBe(strategy);
  });

  it("is not of calls that failed", () => {
    const log = logOf("peek");
    log.add(2, [call("grep", { error: "bad pattern" }), call("grep", { error: "bad pattern" })]);
    log.add(3, [call("llm_call", { error: "no model" })]);
    expect(log.strategy).toBe("scan");
    expect(log.calls.length).toBe(4);
  });

  it("is not led astray by names of the language", () => {
    expect(strategyOf({ constructor: 1 } as Record<string, number>)).toBe("mixed");
    expect(strategyOf({})).toBe("none");
  });
});

describe("the figures", () => {
  it("count what is known whole, and scale what is known by its beginning", async () => {
    const tokenizer = await loadTokenizer();
    const preview = "The quick brown fox jumps over the lazy dog.";
    const log = new ExplorationLog();
    log.add(1, [call("peek", { preview }), call("grep", { preview, size: preview.length * 10 })]);
    log.add(2, [call("FINAL", { preview }), call("list_dir", { preview: "", size: 0 })]);
    log.answer = "a fox";
    const known = tokenizer.count(preview);
    const { calls, explorationTokens, answerTokens, tokenEfficiency } = await log.export();
    expect(calls.map(({ name, tokens, turn }) => [turn, name, tokens])).toEqual([
      [1, "peek", known],
      [1, "grep", known * 10],
      [2, "FINAL", known],
      [2, "list_dir", 0],
    ]);
    expect(explorationTokens).toBe(known * 11);
    expect(answerTokens).toBe(2);
    expect(tokenEfficiency).toBeCloseTo(2 / (known * 11));
  });

  it("have no efficiency without an answer or an exploration", async () => {
    const unanswered = await logOf("peek").export();
    expect(unanswered).toMatchObject({ answerTokens: null, tokenEfficiency: null });
    const guessed = logOf("FINAL");
    guessed.answer = "a guess";
    expect(await guessed.export()).toMatchObject({ explorationTokens: 0, tokenEfficiency: null });
    expect(JSON.stringify(await guessed.export())).not.toContain("Infinity");
  });

  it("stay true when there are too many calls to keep", async () => {
    const log = new ExplorationLog();
    for (let turn = 1; turn <= 60; turn += 1) {
      log.add(
        turn,
        Array.from({ length: 100 }, () => call("grep")),
        3,
      );
    }
    const { calls, counts, omitted } = await log.export();
    expect(calls.length).toBe(5000);
    expect(calls[0]?.turn).toBe(11);
    expect(counts).toEqual({ grep: 6000 });
    expect(omitted).toBe(60 * 3 + 1000);
  });
});

describe("the record", () => {
  it("comes back as it was", async () => {
    const log = logOf("peek", "grep", "grep");
    log.add(
      2,
      [call("llm_call", { arguments: { prompt: "why?", n: [1, null] }, parents: ["X1"] })],
      7,
    );
    log.answer = "because";
    const back = ExplorationLog.fromJSON(JSON.parse(JSON.stringify(log)));
    expect(back.toJSON()).toEqual(log.toJSON());
    expect(await back.export()).toEqual(await log.export());
    back.add(3, [call("peek")]);
    expect(log.calls.length).toBe(4);
  });

  it.each([
    ["of a later version", { version: 2 }],
    ["with a count below nothing", { counts: { peek: -1 } }],
    ["with a call that has no id", { calls: [{ name: "peek" }] }],
    ["with more than it knows", { strategy: "scan" }],
  ])("is refused %s", (_, change) => {
    const record = { ...logOf("peek").toJSON(), ...change };
    expect(() => ExplorationLog.fromJSON(record)).toThrow(/not an exploration log of version 1/);
  });
});
