import { describe, expect, test } from "vitest";
import { excessOf, MAX_JSON_DEPTH, MAX_JSON_VALUES } from "./bounds.js";

function judge(text: string): string | undefined {
  return excessOf(Buffer.from(text));
}

describe("excessOf", () => {
  test("knows the depth", () => {
    const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`;
    expect(judge(nested(MAX_JSON_DEPTH))).toBeUndefined();
    expect(judge(nested(MAX_JSON_DEPTH + 2))).toContain("deep");
    expect(judge("[],".repeat(MAX_JSON_DEPTH * 2))).toBeUndefined();
  });

  test.each(["1", "{}", "[]", '"a"', '"a":1', "null"])("knows the number of %s", (item) => {
    const many = (count: number) => `${`${item},`.repeat(count - 1)}${item}`;
    expect(judge(many(MAX_JSON_VALUES / 4))).toBeUndefined();
    expect(judge(many(MAX_JSON_VALUES + 1))).toContain("values");
  });

  test("takes another limit", () => {
    expect(excessOf(Buffer.from("[1,2,3]"), 4)).toBeUndefined();
    expect(excessOf(Buffer.from("[1,2,3]"), 3)).toContain("more than 3 values");
  });

  test.each([
    ["brackets", "["],
    ["commas", ","],
    ["escaped quotes", '\\"['],
    ["escaped backslashes and quotes", '\\\\\\",'],
  ])("takes %s in a string for text", (_, text) => {
    expect(judge(`["${text.repeat(MAX_JSON_VALUES + 1)}"]`)).toBeUndefined();
  });

  test("sees what follows a string that ends in a backslash", () => {
    expect(judge(`["\\\\"${",1".repeat(MAX_JSON_VALUES)}]`)).toContain("values");
  });

  test.each(["", '"', '"\\', "]]]]", "\0\xff", "[", '{"a'])("survives %j", (text) => {
    expect(judge(text)).toBeUndefined();
  });
});
