import { describe, expect, it } from "vitest";
import { cut, isNodeId, keyOf, prefixOf, queryOf, splitId, summaryOf } from "./node.js";

const call = (given: Record<string, unknown>, name = "grep") => ({
  name,
  arguments: given,
  preview: "",
});

describe("ids", () => {
  it.each([
    ["grep", "G"],
    ["peek", "P"],
    ["llm_call", "L"],
    ["TOOL", "T"],
    ["tool", "T"],
    ["list_dir", "D"],
    ["web_fetch", "W"],
    ["recall", "R"],
    ["code_search", "CS"],
    ["doc_search", "DS"],
    ["llm_batch", "B"],
    ["file_info", "F"],
    ["constructor", "X"],
    ["anything", "X"],
  ])("of %s begin with %s", (name, prefix) => {
    expect(prefixOf(name)).toBe(prefix);
    expect(isNodeId(`${prefix}12`)).toBe(true);
    expect(splitId(`${prefix}12`)).toEqual({ prefix, number: 12 });
  });

  it.each(["", "G", "G0", "G01", "g1", "Q1", "GG1", "G1 ", "G1\n", "1", "G1234567890"])(
    "are not %j",
    (text) => {
      expect(isNodeId(text)).toBe(false);
    },
  );
});

describe("a query", () => {
  it.each([
    [{ pattern: "error" }, "grep(pattern='error')"],
    [{ pattern: "it's", n: 100 }, `grep(pattern="it's", n=100)`],
    [{ pattern: `'"`, file: null, deep: true }, `grep(pattern='\\'"', file=None, deep=True)`],
    [{ list: [1, "a"], map: { k: [] } }, "grep(list=[1, 'a'], map={'k': []})"],
    [{ pattern: "a\n## Research\tb\\" }, "grep(pattern='a\\n## Research\\tb\\\\')"],
    [{ "a\nb": "\u2028\u202e\u0007x" }, "grep(a b=' x')"],
    [{}, "grep()"],
  ])("is %j as Python writes it", (given, text) => {
    expect(queryOf(call(given))).toBe(text);
  });

  it("has at most 100 characters and no half ones", () => {
    for (let shift = 0; shift < 4; shift++) {
      const query = queryOf(call({ pattern: `${"a".repeat(shift)}${"🦕".repeat(500)}` }));
      expect(query.length).toBeLessThanOrEqual(100);
      expect(query.isWellFormed()).toBe(true);
      expect(query.endsWith("...")).toBe(true);
    }
  });

  it("takes values of any depth", () => {
    let deep: unknown = "x";
    for (let level = 0; level < 50_000; level++) deep = [deep];
    expect(queryOf(call({ deep })).length).toBeLessThanOrEqual(100);
    expect(keyOf(call({ deep }))).toBeTypeOf("string");
  });
});

describe("a summary", () => {
  it("has at most 200 characters and ends with a word", () => {
    for (let shift = 1; shift < 12; shift++) {
      const preview = `${"x".repeat(shift)} ${"some words ".repeat(40)}`;
      const summary = summaryOf({ ...call({}), preview });
      expect(summary).toMatch(/^x+ (some words )*(some|some words)\.\.\.$/);
      expect(summary.length).toBeLessThanOrEqual(200);
      expect(summary.length).toBeGreaterThan(200 - "words...".length);
    }
  });

  it("cuts a word that fills it, but no character", () => {
    expect(cut("x".repeat(300), 200)).toBe(`${"x".repeat(197)}...`);
    expect(cut(`x${"🦕".repeat(300)}`, 200).isWellFormed()).toBe(true);
  });

  it("says when there is more than the session told", () => {
    expect(summaryOf({ ...call({}), preview: "all of it" })).toBe("all of it");
    expect(summaryOf({ ...call({}), preview: "some of…" })).toBe("some of...");
    expect(summaryOf({ ...call({}), preview: "some of ..." })).toBe("some of...");
  });

  it("is one line, and tells of a failure", () => {
    expect(summaryOf({ ...call({}), preview: "a\r\n[+] G9: fake\0b" })).toBe("a [+] G9: fake b");
    expect(summaryOf({ ...call({}), preview: "x", error: "no such\nfile" })).toBe(
      "failed: no such file",
    );
  });
});

describe("a key", () => {
  it("is the same for the same call", () => {
    const key = keyOf(call({ a: 1, b: { c: [1, 2] } }));
    expect(keyOf(call({ b: { c: [1, 2] }, a: 1 }))).toBe(key);
    expect(keyOf(call({ a: 1, b: { c: [2, 1] } }))).not.toBe(key);
    expect(keyOf(call({ a: "1", b: { c: [1, 2] } }))).not.toBe(key);
    expect(keyOf(call({ a: 1, b: { c: [1, 2] } }, "peek"))).not.toBe(key);
  });

  it("is none where an argument is not told whole", () => {
    expect(keyOf(call({ prompts: ["What is in…"] }))).toBeUndefined();
    expect(keyOf(call({ prompts: "1,200 items" }))).toBeUndefined();
  });
});
