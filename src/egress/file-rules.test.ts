import { describe, expect, it } from "vitest";
import { matchesRule } from "./file-rules.js";

describe("a rule for files", () => {
  it.each([
    ["patients.csv", "*.csv", true],
    ["data/deep/patients.csv", "*.csv", true],
    ["patients.csv.txt", "*.csv", false],
    ["data/a.csv", "data/*.csv", true],
    ["data/deep/a.csv", "data/*.csv", false],
    ["data/deep/a.csv", "data/**/*.csv", true],
    ["data/a.csv", "data/**/*.csv", true],
    ["data/deep/x", "data/**", true],
    ["other/data/x", "data/**", false],
    ["other/data/x", "**/data/**", true],
    ["a1", "a?", true],
    ["a/1", "a?1", false],
    ["./data//a.csv", "/data/a.csv", true],
    ["[x].csv", "[x].csv", true],
    ["x.csv", "[x].csv", false],
    ["ä😀.csv", "??.csv", true],
    ["anything", "", false],
    ["anything", "*", true],
  ])("%s fits %s: %s", (path, glob, expected) => {
    expect(matchesRule(path, [glob])).toBe(expected);
  });

  it("fits when one of several does, and never without any", () => {
    expect(matchesRule("a.key", ["*.csv", "*.key"])).toBe(true);
    expect(matchesRule("a.key", [])).toBe(false);
  });

  it("looks at no character more often than the pattern has characters", () => {
    const pattern = `${"*a".repeat(2_000)}b`;
    expect(matchesRule("a".repeat(4_000), [pattern])).toBe(false);
    expect(matchesRule(`${"a/".repeat(4_000)}`, [`${"**/a/".repeat(2_000)}b`])).toBe(false);
  });
});
