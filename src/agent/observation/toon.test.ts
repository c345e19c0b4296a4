import { decode } from "@toon-format/toon";
import { describe, expect, it } from "vitest";
import { decodeValue, type Json, UnconvertedValue } from "../../protocol/values.js";
import { plainOf } from "./plain-value.js";
import { loadTokenizer } from "./tokens.js";
import { Renderer } from "./toon.js";

const renderer = await Renderer.load();
const tokenizer = await loadTokenizer();

const row = (number: number) => ({
  id: number,
  name: ["Ada", "Alan", "Grace"][number % 3],
  email: `user${number}@example.org`,
  paid: number % 2 === 0,
});
const rows = (count: number) => Array.from({ length: count }, (_, number) => row(number));

function decoded(text: string, format: string): unknown {
  return format === "toon" ? decode(text) : JSON.parse(text);
}

describe("rendering", () => {
  it("writes uniform rows as a table, with the tokens that it has", () => {
    const { text, format, tokens } = renderer.render(rows(2));
    expect(text).toBe(
      "[2]{id,name,email,paid}:\n  0,Ada,user0@example.org,true\n  1,Alan,user1@example.org,false",
    );
    expect(format).toBe("toon");
    expect(tokens).toBe(tokenizer.count(text));
  });

  it("takes whichever has fewer tokens", () => {
    const values = [rows(3), { a: 1 }, [1, 2, 3], [[1], [2, [3]]], [[[[]]]], { a: [{}, []] }];
    for (const value of values) {
      const plain = JSON.stringify(value);
      const { tokens } = renderer.render(value);
      expect(tokens).toBeLessThanOrEqual(tokenizer.count(plain));
    }
    expect(renderer.render([[[[]]]]).format).toBe("json");
  });

  it("writes plain values as JSON", () => {
    expect(renderer.render("a\nb")).toMatchObject({ text: '"a\\nb"', format: "json" });
    expect(renderer.render(1.5)).toMatchObject({ text: "1.5", format: "json" });
    expect(renderer.render(undefined)).toMatchObject({ text: "null", format: "json" });
  });

  it("can be told to write JSON only", async () => {
    const plain = await Renderer.load({ toon: false, tokenizer });
    expect(plain.render(rows(5))).toMatchObject({ text: JSON.stringify(rows(5)), format: "json" });
  });

  it("compares large values as a whole", () => {
    expect(renderer.render(rows(2_000))).toMatchObject({ format: "toon" });
    const value = Array.from({ length: 2_400 }, (_, number) =>
      number % 100 === 0
        ? { alpha: number, beta: "x", gamma: true }
        : [[[number], []], [[]], { b: [[]] }],
    );
    const { text, format } = renderer.render(value);
    expect(format).toBe("json");
    expect(JSON.parse(text)).toEqual(value);
  });
});

describe("values that come back from the decoder as they were", () => {
  const values: Record<string, Json> = {
    "words that look like something else": ["true", "null", "05", "-1", "1e5", "", " a ", "- b"],
    "text with signs": { a: "x, y", b: 'say "hi"', c: "l1\nl2\tz", d: "# no", e: "[2]: 1" },
    "odd keys": { "a b": 1, "": 2, "x:y": 3, "1": 4, "[0]": 5, ключ: 6 },
    "a prototype's name": JSON.parse('[{"__proto__":1,"b":2},{"__proto__":3,"b":4}]'),
    "nothing in it": [{}, [], { a: [], b: {} }],
    "rows with gaps": [{ a: 1 }, { b: 2 }, { a: 1, b: null }],
    "nested rows": {
      teams: [
        { id: 1, who: rows(2) as Json },
        { id: 2, who: [] },
      ],
    },
    numbers: [0, -1.5, 1e21, 1e-7, 123456789012],
    "other alphabets": [{ 名: "漢字", e: "😀" }],
    "many rows": rows(700) as Json,
  };
  it.each(Object.entries(values))("%s", (_, value) => {
    const { text, format } = renderer.render(value);
    expect(decoded(text, format)).toEqual(value);
    expect(JSON.stringify(decoded(text, format))).toBe(JSON.stringify(value));
  });

  it.each(Object.entries(values))("%s, as TOON whatever it costs", async (_, value) => {
    const dear = { encoding: "o200k_base" as const, cut: (text: string) => text };
    const count = (text: string) => (/^[[{"]/.test(text) ? 9e9 : 1);
    const always = await Renderer.load({ tokenizer: { ...dear, count } });
    const { text, format } = always.render({ value });
    expect(format).toBe("toon");
    expect(JSON.stringify(decode(text))).toBe(JSON.stringify({ value }));
  });
});

describe("what JSON has no form for", () => {
  it.each([
    ["a map", new Map([[1, "a"]]), { 1: "a" }],
    [
      "a map whose keys read the same",
      new Map<unknown, number>([
        [1, 2],
        ["1", 3],
      ]),
      [
        { key: 1, value: 2 },
        { key: "1", value: 3 },
      ],
    ],
    ["a map with keys of several parts", new Map([[[1, 2], 3]]), [{ key: [1, 2], value: 3 }]],
    ["a set", new Set([1, "b"]), [1, "b"]],
    ["integers", [7n, 2n ** 80n], [7, (2n ** 80n).toString()]],
    ["a time", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["no number", [Number.NaN, Number.NEGATIVE_INFINITY], ["NaN", "-Infinity"]],
    ["bytes", new Uint8Array(5), "<5 bytes>"],
    ["numbers in an array of their own", new Float64Array([1, 2]), [1, 2]],
    [
      "an object of Python",
      { model: new UnconvertedValue("Model", "<Model m>") },
      { model: "<Model m>" },
    ],
    ["nothing", { a: undefined }, { a: null }],
  ])("%s", (_, value, expected) => {
    expect(plainOf(value)).toEqual({ value: expected, notes: [], isToonable: true });
  });

  it("a value that contains itself, or is nested without end", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(plainOf(loop).value).toEqual(["<contains itself>"]);
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(renderer.render(deep).text).toContain("nested too deep");
  });

  it("half a surrogate pair, which only JSON can write", () => {
    const value = rows(3).map((fields) => ({ ...fields, half: "\ud800" }));
    const { text, format } = renderer.render(value);
    expect(format).toBe("json");
    expect(JSON.parse(text)).toEqual(value);
  });

  it("a data frame that was cut: the rows stay a table, and the note stands below", () => {
    const table = decodeValue({
      $: "dataframe",
      columns: ["a", "b"],
      rows: [
        [1, "x"],
        [2, "y"],
      ],
      shape: [900, 2],
      truncated: true,
    });
    expect(renderer.render(table).text).toBe(
      "[2]{a,b}:\n  1,x\n  2,y\n(only the first 2 of 900 are here)",
    );
    const nested = { part: [new UnconvertedValue("truncated", "only the first 0 are here")] };
    expect(plainOf(nested)).toMatchObject({
      value: { part: [] },
      notes: ["part: only the first 0 are here"],
    });
  });

  it("a collection that was cut keeps what arrived of it", () => {
    const { text } = renderer.render([new UnconvertedValue("list", "list of 5000", [1, 2])]);
    expect(text).toContain("([0]: list: list of 5000)");
  });
});
