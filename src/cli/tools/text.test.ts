import { describe, expect, it } from "vitest";
import { UnconvertedValue } from "../../protocol/values.js";
import { argumentsText, lineText, printable, proseText } from "./text.js";

describe("what a server says of its tools", () => {
  it("stays on its line, without colours, and is not endless", () => {
    const said = "good\r    evil\n\u001b[8mhidden\u001b]0;title\u0007 \u202etxt.exe \u009b2J";
    expect(lineText(said)).toBe(
      "good     evil \\u001b[8mhidden\\u001b]0;title\\x07 \\u202etxt.exe \\x9b2J",
    );
    expect(lineText("x".repeat(20_000)).length).toBe(2_000);
    expect(proseText("one\r\ntwo\u001b[31m")).toBe("one\ntwo\\u001b[31m");
  });
});

it("arguments to approve are shown to their end, or say what is missing", () => {
  expect(argumentsText({ path: "a" })).toBe('{\n  "path": "a"\n}');
  const hiding = argumentsText({ note: "x".repeat(10_000), recursive: true });
  expect(hiding).toMatch(/\[… [\d]+ characters are not shown …\]/);
  expect(hiding).toContain('"recursive": true');
  expect(argumentsText({ to: "\u202egpj.exe", n: 2n ** 70n })).toContain("\\u202egpj.exe");
});

it("values that JSON has no word for can be printed", () => {
  const value = {
    big: 2n ** 100n,
    nan: Number.NaN,
    bytes: Buffer.from("abc"),
    map: new Map([["a", new Set([1])]]),
    date: new Date(0),
    left: new UnconvertedValue("object", "<thing>"),
  };
  expect(printable(value)).toEqual({
    big: "1267650600228229401496703205376",
    nan: "NaN",
    bytes: "YWJj",
    map: [["a", [1]]],
    date: "1970-01-01T00:00:00.000Z",
    left: "<thing>",
  });
  expect(printable(undefined)).toBeNull();
});
