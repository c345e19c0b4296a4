import { describe, expect, it } from "vitest";
import { finishIn } from "./finish.js";

describe("FINAL in prose", () => {
  it.each([
    ["FINAL(42)", "42"],
    ["I am sure.\nFINAL(42)", "42"],
    ["I am sure.\r\nFINAL(42)\r\nBye.", "42"],
    ["  FINAL( 42 )", "42"],
    ["FINAL(f(x) = 3 and g(x) = 4)", "f(x) = 3 and g(x) = 4"],
    ["FINAL(f(g(h(1))))", "f(g(h(1)))"],
    ["FINAL(42) is what I found (see above)", "42"],
    ["FINAL(First line\nsecond (line)\r\nthird)\nrest", "First line\nsecond (line)\nthird"],
    ["FINAL(It's Anna's (the doctor's) dog)", "It's Anna's (the doctor's) dog"],
    ['FINAL(she wrote ":)" twice) end', 'she wrote ":)" twice'],
    ["FINAL(the sign is ')' here)", "the sign is ')' here"],
    ["FINAL(call `f(` first)", "call `f(` first"],
    ['FINAL(12" wide)', '12" wide'],
    ['FINAL("Paris")', "Paris"],
    ["FINAL('Paris')", "Paris"],
    ['FINAL("""Paris\nand "Rome" """)', 'Paris\nand "Rome" '],
    ['FINAL("a \\"b\\" :)\\nc",)', 'a "b" :)\nc'],
    ['FINAL("\\d+ \\\\ \\u00e9")', "\\d+ \\ \\u00e9"],
    ['FINAL("Paris" and "Rome")', '"Paris" and "Rome"'],
    ['FINAL(\n```json\n{"a": 1}\n```\n)', '```json\n{"a": 1}\n```'],
    ["FINAL(the interval (0, 1])\nThat is all.", "the interval (0, 1]"],
    ["FINAL()\nFINAL(2)", "2"],
    ["FINAL(1)\nFINAL(2)", "1"],
    ["> she said\n\nFINAL(1)", "1"],
    ["```json\nFINAL(1)\n```\nFINAL(2)", "2"],
  ])("gives the answer: %j", (response, text) => {
    expect(finishIn(response)).toEqual({ via: "FINAL", text });
  });

  it.each([
    "I will call FINAL(42) soon",
    "> FINAL(42)",
    "`FINAL(42)`",
    '"FINAL(42)"',
    "'FINAL(42)'",
    "- FINAL(42)",
    "    FINAL(42)",
    "# FINAL(42)",
    "MY_FINAL(42)",
    "FINALLY(42)",
    "FINAL 42",
    "FINAL (42)",
    "final(42)",
    "FINAL()",
    "FINAL(  )",
    'FINAL("")',
    "FINAL(",
    "FINAL(an answer that was cut off",
    "```text\nFINAL(42)\n```",
    "```repl\nFINAL(42)\n```",
    "```repl\nFINAL(42)",
    "~~~\nFINAL(42)\n~~~",
    "",
  ])("does not count: %j", (response) => {
    expect(finishIn(response)).toBeUndefined();
  });
});

describe("FINAL_VAR in prose", () => {
  it.each([
    ["FINAL_VAR(result)", "result"],
    ["FINAL_VAR( result )", "result"],
    ['FINAL_VAR("result")', "result"],
    ["FINAL_VAR('result')", "result"],
    ["FINAL_VAR(`result`)", "result"],
    ["FINAL_VAR(résumé_2)", "résumé_2"],
    ["Done.\nFINAL_VAR(result) holds it", "result"],
  ])("names the variable: %j", (response, name) => {
    expect(finishIn(response)).toEqual({ via: "FINAL_VAR", name });
  });

  it.each([
    "FINAL_VAR()",
    "FINAL_VAR(results[0])",
    "FINAL_VAR(a, b)",
    "FINAL_VAR(2nd)",
    'FINAL_VAR("a\\nimport os")',
    "FINAL_VAR(a\nb)",
    "> FINAL_VAR(result)",
  ])("takes a name only: %j", (response) => {
    expect(finishIn(response)).toBeUndefined();
  });
});

it.each([
  ["calls that never end", "FINAL(\n"],
  ["lone quotes", " 'a"],
  ["parentheses", "("],
  ["spaces", " "],
])("many %s are read in good time", (_, piece) => {
  const response = `FINAL("a"${piece.repeat(Math.ceil(300_000 / piece.length))}`;
  expect(finishIn(response)).toBeUndefined();
});
