import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadTokenizer } from "./tokens.js";

const tokenizer = await loadTokenizer();
const PROSE = "It was the best of times, it was the worst of times; said 42 people.\n";
const EAGER = /^(?:import|export)(?! type)[^;]*from "(?:gpt-tokenizer|@toon-format)/m;

describe("counting tokens", () => {
  it.each([
    ["", 0],
    ["hello world", 2],
    ["The quick brown fox jumps over the lazy dog.", 10],
    ["print(len(context))", 4],
  ])("gives the number of byte pairs of %j", (text, tokens) => {
    expect(tokenizer.count(text)).toBe(tokens);
  });

  it("takes what looks like a special token for text", () => {
    expect(tokenizer.count("<|endoftext|>")).toBeGreaterThan(1);
  });

  it("takes lone surrogates", () => {
    expect(tokenizer.count("\ud800 and \udc00")).toBeGreaterThan(0);
  });

  it("says when it has estimated, and comes close", () => {
    const lines = Array.from({ length: 12_000 }, (_, line) => `${line} ${PROSE.slice(line % 40)}`);
    const text = lines.join("");
    const parts = lines.reduce((sum, line) => sum + tokenizer.count(line), 0);
    const tokens = tokenizer.count(text);
    expect(Math.abs(tokens - parts) / parts).toBeLessThan(0.02);
  });

  it.each([
    ["one letter", "a".repeat(1_000_000)],
    ["spaces", " ".repeat(400_000)],
    ["signs", "=-".repeat(200_000)],
    ["Chinese without a pause", "漢字仮名".repeat(50_000)],
    ["marks", "e\u0301".repeat(100_000)],
    ["pairs of surrogates", "😀".repeat(100_000)],
  ])("does not choke on a run of %s", (_, text) => {
    expect(tokenizer.count(text)).toBeGreaterThan(0);
  });

  it("cuts a text to a number of tokens, never within a character", () => {
    const text = "😀 ".repeat(300);
    const cut = tokenizer.cut(text, 100);
    expect(tokenizer.count(cut)).toBeLessThanOrEqual(100);
    expect(tokenizer.count(cut)).toBeGreaterThan(90);
    expect(text.startsWith(cut)).toBe(true);
    expect(Buffer.from(cut).toString()).toBe(cut);
    expect(tokenizer.cut("short", 100)).toBe("short");
    expect(tokenizer.cut("anything", 0)).toBe("");
  });
});

describe("the tables", () => {
  it("are loaded with the first use, not with the library", () => {
    const folder = fileURLToPath(new URL("../../", import.meta.url));
    const eager = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
      .filter((path) => EAGER.test(readFileSync(join(folder, path), "utf8")));
    expect(eager).toEqual([]);
    expect('import { encode } from "@toon-format/toon";').toMatch(EAGER);
  });
});
