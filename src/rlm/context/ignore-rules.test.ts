import { describe, expect, it } from "vitest";
import { IgnoreRules } from "./ignore-rules.js";

const said = (rules: string, path: string, isFolder = false) =>
  new IgnoreRules(rules).ignores(path, isFolder);

describe("IgnoreRules", () => {
  it.each([
    ["*.log", "a/b/c.log", true],
    ["*.log", "a/c.logs", undefined],
    ["/top.txt", "top.txt", true],
    ["/top.txt", "a/top.txt", undefined],
    ["a/b", "a/b", true],
    ["a/b", "c/a/b", undefined],
    ["**/b", "c/a/b", true],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z", true],
    ["a/**", "a/b/c", true],
    ["a/**", "a", undefined],
    ["?.md", "x.md", true],
    ["?.md", "xy.md", undefined],
    ["[a-c].md", "b.md", true],
    ["[!a-c].md", "b.md", undefined],
    ["[", "[", true],
    ["\\#x", "#x", true],
    ["#x", "#x", undefined],
    ["a\\*", "a*", true],
    ["a\\*", "ab", undefined],
    ["x  ", "x", true],
    ["x\r\ny", "x", true],
    ["*.log\n!keep.log", "keep.log", false],
    ["!keep.log\n*.log", "keep.log", true],
    ["/", "a", undefined],
    ["", "a", undefined],
    ["ä?", "ä😀", true],
  ])("%j of %j is %s", (rules, path, expected) => {
    expect(said(rules, path)).toBe(expected);
  });

  it("takes what ends with a slash for folders alone", () => {
    expect(said("build/", "build")).toBeUndefined();
    expect(said("build/", "a/build", true)).toBe(true);
    expect(said("a/build/", "b/a/build", true)).toBeUndefined();
  });

  it("is done soon with a pattern that is made to take long", () => {
    expect(said(`${"*a".repeat(1000)}b`, "a".repeat(5000))).toBeUndefined();
    expect(said(`${"**/a/".repeat(400)}b`, `${"a/".repeat(2000)}c`)).toBeUndefined();
    expect(said("x".repeat(5000), "x".repeat(5000))).toBeUndefined();
  });
});
