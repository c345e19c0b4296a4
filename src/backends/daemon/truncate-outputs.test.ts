import { describe, expect, it } from "vitest";
import type { CodeExecution, Output } from "../backend.js";
import { packExecution, unpackExecution } from "./result-codec.js";

const LIMIT = 1024 * 1024;
const DISPLAY: Output & { type: "display" } = {
  type: "display",
  data: { "text/plain": "a picture" },
  binary: {},
  metadata: {},
};

function executionOf(outputs: readonly Output[], more: Partial<CodeExecution> = {}): CodeExecution {
  return {
    number: 1,
    code: "",
    status: "ok",
    stdout: "",
    stderr: "",
    error: null,
    result: null,
    outputs,
    omitted: { stdout: 0, stderr: 0 },
    exitCode: null,
    background: 0,
    duration: 1,
    isolation: { level: "L3", missing: [] },
    state: { survived: true, checkpoint: null },
    ...more,
  };
}

function carried(execution: CodeExecution): CodeExecution {
  const wire = packExecution(execution, () => 0, LIMIT);
  const message = JSON.stringify({ jsonrpc: "2.0", id: Number.MAX_SAFE_INTEGER, result: wire });
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(LIMIT);
  return unpackExecution(wire, execution.code, () => DISPLAY);
}

function out(text: string): Output {
  return { type: "stdout", text };
}

describe("a result in a message of bounded length", () => {
  it.each([
    ["plain text", "x".repeat(LIMIT - 2048)],
    ["lines", "\n".repeat(LIMIT / 2 - 2048)],
    ["zeros", "\0".repeat(LIMIT / 6 - 2048)],
    ["pairs of surrogates", "🎈".repeat(LIMIT / 4 - 2048)],
    ["halves of them", "\ud83c".repeat(LIMIT / 6 - 2048)],
  ])("is whole where there is room for it: %s", (_, text) => {
    const { stdout, omitted } = carried(executionOf([out(text)]));
    expect(stdout === text).toBe(true);
    expect(omitted).toEqual({ stdout: 0, stderr: 0 });
  });

  it.each([
    ["plain text", "x", 1],
    ["zeros", "\0", 1],
    ["pairs of surrogates", "🎈", 4],
    ["characters of three bytes", "\ufffd", 3],
  ])("loses the middle and says how much: %s", (_, character, bytes) => {
    const text = `first ${character.repeat(LIMIT)} last`;
    const { stdout, omitted } = carried(executionOf([out(text)]));
    const notice = `\n... [${omitted.stdout.toLocaleString("en-US")} bytes omitted] ...\n`;
    const parts = stdout.split(notice);
    expect(parts.length).toBe(2);
    const kept = parts.map((part) => part.replace(/^first | last$/, ""));
    expect(kept.map((part) => part === character.repeat(part.length / character.length))).toEqual([
      true,
      true,
    ]);
    expect([stdout.slice(0, 6), stdout.slice(-5)]).toEqual(["first ", " last"]);
    expect(kept.join("").length / character.length + omitted.stdout / bytes).toBe(LIMIT);
    expect(kept.every((part) => part.length * 6 > LIMIT / 4)).toBe(true);
  });

  it("keeps the short stream, the displays and their order", () => {
    const long = "x".repeat(LIMIT);
    const error: Output = { type: "stderr", text: "short" };
    const run = carried(executionOf([out(`a${long}`), error, DISPLAY, out(long), out("b")]));
    expect(run.outputs.map(({ type }) => type)).toEqual([
      "stdout",
      "stderr",
      "display",
      "stdout",
      "stdout",
    ]);
    expect(run.stderr).toBe("short");
    expect([run.stdout.at(0), run.stdout.at(-1)]).toEqual(["a", "b"]);
    expect(run.omitted.stderr).toBe(0);
  });

  it("shares the room between two long streams", () => {
    const text = "x".repeat(LIMIT);
    const run = carried(executionOf([out(text), { type: "stderr", text }]));
    expect(run.stdout.length).toBeGreaterThan(LIMIT / 3);
    expect(run.stderr.length).toBeGreaterThan(LIMIT / 3);
  });

  it("counts what was left out before, and leaves room for the rest", () => {
    const result = { "text/plain": "\0".repeat(LIMIT / 12) };
    const omitted = { stdout: 5, stderr: 0 };
    const run = carried(executionOf([out("x".repeat(LIMIT))], { result, omitted }));
    expect(run.result).toEqual(result);
    const notice = `[${run.omitted.stdout.toLocaleString("en-US")} bytes omitted]`;
    expect(run.stdout).toContain(notice);
    expect(run.stdout.replace(/\n.*\n/, "").length + run.omitted.stdout).toBe(LIMIT + 5);
  });
});
