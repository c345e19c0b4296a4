import { describe, expect, test } from "vitest";
import { decodeValue, encodeValue, UnconvertedValue } from "./values.js";

function decodeText(text: string): unknown {
  return decodeValue(JSON.parse(text));
}

describe("decodeValue", () => {
  const plain = [null, true, 0, -1.5, "text", [], {}, [1, ["a"]], { a: { b: [null] } }];

  test.each(plain)("keeps plain JSON: %j", (value) => {
    expect(decodeValue(value)).toEqual(value);
  });

  const tagged: [unknown, unknown][] = [
    [{ $: "int", v: "-123456789012345678901234567890" }, -123456789012345678901234567890n],
    [{ $: "int", v: "7" }, 7n],
    [{ $: "float", v: "nan" }, Number.NaN],
    [{ $: "float", v: "inf" }, Number.POSITIVE_INFINITY],
    [{ $: "float", v: "-inf" }, Number.NEGATIVE_INFINITY],
    [{ $: "float", v: "-0" }, -0],
    [{ $: "bytes", v: "AP8=" }, new Uint8Array([0, 255])],
    [{ $: "bytes", v: "" }, new Uint8Array()],
    [{ $: "tuple", v: [1, { $: "tuple", v: [] }] }, [1, []]],
    [{ $: "set", v: [1, "a"] }, new Set([1, "a"])],
    [{ $: "frozenset", v: [] }, new Set()],
    [{ $: "dict", v: [[1, "a"]] }, new Map([[1, "a"]])],
    [{ $: "dict", v: [["$", 1]] }, new Map([["$", 1]])],
    [{ $: "date", v: "2024-02-29" }, "2024-02-29"],
    [{ $: "time", v: "12:30:00" }, "12:30:00"],
    [{ $: "timedelta", v: 90.5 }, 90.5],
    [{ $: "decimal", v: "1.10" }, "1.10"],
    [
      { $: "complex", v: [1, { $: "float", v: "inf" }] },
      { re: 1, im: Number.POSITIVE_INFINITY },
    ],
    [{ $: "ndarray", dtype: "int64", shape: [2, 1], v: [[1], [2]] }, [[1], [2]]],
    [{ $: "ndarray", dtype: "float64", shape: [], v: 2.5 }, 2.5],
    [{ $: "series", v: [1, { $: "float", v: "nan" }] }, [1, Number.NaN]],
  ];

  test.each(tagged)("%j", (value, expected) => {
    expect(decodeValue(value)).toEqual(expected);
  });

  test.each([
    ["2024-02-29T12:30:15.123456+05:30", "2024-02-29T07:00:15.123Z"],
    ["2024-02-29T12:30:15.283", "2024-02-29T12:30:15.283Z"],
    ["2024-01-01T00:00:00-00:30", "2024-01-01T00:30:00.000Z"],
    ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000Z"],
    ["2024-01-01T00:00", "2024-01-01T00:00:00.000Z"],
    ["2024-01-01T00:00:00.123456789", "2024-01-01T00:00:00.123Z"],
    ["1900-01-01T00:00:00+00:19:32", "1899-12-31T23:40:28.000Z"],
    ["0001-01-01T00:00:00", "0001-01-01T00:00:00.000Z"],
  ])("reads the datetime %s", (text, expected) => {
    expect(decodeValue({ $: "datetime", v: text })).toEqual(new Date(expected));
  });

  test("gives a data frame as rows", () => {
    const columns = ["name", 3, "name", { $: "tuple", v: ["a", 1] }];
    const rows = [
      ["x", null, { $: "float", v: "nan" }, 1],
      ["y", 2, 3, 4],
    ];
    expect(decodeValue({ $: "dataframe", columns, rows, shape: [2, 4], truncated: false })).toEqual(
      [
        { name: "x", 3: null, "name.1": Number.NaN, "a.1": 1 },
        { name: "y", 3: 2, "name.1": 3, "a.1": 4 },
      ],
    );
  });

  test("says at the end of a cut data frame that it is cut", () => {
    const frame = { $: "dataframe", columns: ["a"], rows: [[1]], shape: [900, 1], truncated: true };
    const note = new UnconvertedValue("truncated", "only the first 1 of 900 are here");
    expect(decodeValue(frame)).toEqual([{ a: 1 }, note]);
  });

  const opaque: [unknown, string, string][] = [
    [{ $: "object", type: "io.TextIOWrapper", text: "<file>" }, "io.TextIOWrapper", "<file>"],
    [{ $: "cycle" }, "cycle", "a reference to a value that contains this one"],
    [{ $: "truncated", text: "1,000 more" }, "truncated", "1,000 more"],
    [{ $: "future", v: 1 }, "future", "{$: future, v: 1}"],
    [{ $: "__proto__", v: [] }, "__proto__", "{$: __proto__}"],
    [{ $: 5, a: 1 }, "unknown", "{$: 5, a: 1}"],
    [{ $: null }, "unknown", "{$: null}"],
    [{ $: "int", v: "0x10" }, "int", "{$: int, v: 0x10}"],
    [{ $: "int", v: "" }, "int", "{$: int, v: }"],
    [{ $: "int", v: 5 }, "int", "{$: int, v: 5}"],
    [{ $: "float", v: "1.5" }, "float", "{$: float, v: 1.5}"],
    [{ $: "bytes", v: "%%%%" }, "bytes", "{$: bytes, v: %%%%}"],
    [{ $: "dict", v: [[1]] }, "dict", "{$: dict}"],
    [{ $: "tuple", v: "ab" }, "tuple", "{$: tuple, v: ab}"],
    [{ $: "complex", v: [1] }, "complex", "{$: complex}"],
    [{ $: "datetime", v: "yesterday" }, "datetime", "{$: datetime, v: yesterday}"],
    [
      { $: "datetime", v: "2024-13-01T00:00:00" },
      "datetime",
      "{$: datetime, v: 2024-13-01T00:00:00}",
    ],
    [{ $: "dataframe", columns: ["a"], rows: [[1, 2]] }, "dataframe", "{$: dataframe}"],
    [{ $: "dataframe", columns: 1, rows: [] }, "dataframe", "{$: dataframe, columns: 1}"],
  ];

  test.each(opaque)("describes %j", (value, type, text) => {
    const decoded = decodeValue(value);
    expect(decoded).toBeInstanceOf(UnconvertedValue);
    expect(decoded).toEqual(new UnconvertedValue(type, text));
  });

  test("keeps what arrived of a cut collection", () => {
    const cut = { $: "truncated", type: "list", length: 9, text: "the first 2 of 9 items" };
    const items = [1, { $: "int", v: "7" }];
    expect(decodeValue({ ...cut, v: items })).toEqual(
      new UnconvertedValue("list", cut.text, [1, 7n]),
    );
  });

  test("bounds what an odd value can cost", () => {
    expect(decodeValue({ $: "int", v: "9".repeat(200_000) })).toBeInstanceOf(UnconvertedValue);
    const text = decodeValue({ $: "odd", v: "x".repeat(100_000) }) as UnconvertedValue;
    expect(text.text.length).toBeLessThan(300);
  });

  test("cuts what is nested too deep", () => {
    const depth = 100_000;
    const lists = JSON.stringify(decodeText(`${"[".repeat(depth)}${"]".repeat(depth)}`));
    expect(lists).toContain("nested too deep");
    const tags = decodeText(`${'{"$":"tuple","v":['.repeat(depth)}${"]}".repeat(depth)}`);
    expect(JSON.stringify(tags)).toContain("nested too deep");
  });

  test("gives no object a foreign prototype", () => {
    const decoded = decodeText('{"__proto__": {"admin": true}, "a": 1}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
    expect(decoded.admin).toBeUndefined();
    expect(Object.keys(decoded)).toEqual(["__proto__", "a"]);
    const frame = { $: "dataframe", columns: ["__proto__"], rows: [[{ admin: true }]] };
    const [row] = decodeValue(frame) as Record<string, unknown>[];
    expect(row?.admin).toBeUndefined();
    expect(Object.keys(row ?? {})).toEqual(["__proto__"]);
  });
});

describe("encodeValue", () => {
  const encoded: [unknown, unknown][] = [
    [undefined, null],
    [null, null],
    [
      [1, undefined, "a"],
      [1, null, "a"],
    ],
    [
      { a: undefined, b: { c: true } },
      { a: null, b: { c: true } },
    ],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    [Number.NaN, { $: "float", v: "nan" }],
    [Number.POSITIVE_INFINITY, { $: "float", v: "inf" }],
    [Number.NEGATIVE_INFINITY, { $: "float", v: "-inf" }],
    [5n, 5],
    [2n ** 53n, { $: "int", v: "9007199254740992" }],
    [-(10n ** 30n), { $: "int", v: `-1${"0".repeat(30)}` }],
    [new Uint8Array([0, 255]), { $: "bytes", v: "AP8=" }],
    [Buffer.from("abc").subarray(1), { $: "bytes", v: "YmM=" }],
    [new Uint8Array([1, 2]).buffer, { $: "bytes", v: "AQI=" }],
    [new DataView(new Uint8Array([1, 2, 3]).buffer, 1), { $: "bytes", v: "AgM=" }],
    [new Float64Array([0.5, Number.NaN]), [0.5, { $: "float", v: "nan" }]],
    [new BigInt64Array([1n]), [1]],
    [new Date(0), { $: "datetime", v: "1970-01-01T00:00:00.000+00:00" }],
    [new Set([1, [2]]), { $: "set", v: [1, [2]] }],
    [new Map<unknown, unknown>([[1, new Set()]]), { $: "dict", v: [[1, { $: "set", v: [] }]] }],
    [
      { $: "int", v: "1" },
      {
        $: "dict",
        v: [
          ["$", "int"],
          ["v", "1"],
        ],
      },
    ],
    [new URL("http://localhost/a"), "http://localhost/a"],
  ];

  test.each(encoded)("%o", (value, expected) => {
    expect(encodeValue(value)).toEqual(expected);
  });

  test("keeps an own __proto__ member", () => {
    const value = JSON.parse('{"__proto__": 1}');
    expect(JSON.stringify(encodeValue(value))).toBe('{"__proto__":1}');
  });

  test("takes the same object twice", () => {
    const shared = { a: 1 };
    expect(encodeValue([shared, shared])).toEqual([shared, shared]);
  });

  const cyclic: Record<string, unknown> = { list: [] };
  (cyclic.list as unknown[]).push(1, { cyclic });
  const deep = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`);

  const refused: [string, unknown, string][] = [
    ["a function", { a: [0, () => 1] }, 'value["a"][1]'],
    ["a symbol", Symbol("s"), "value "],
    ["a cycle", cyclic, 'value["list"][1]["cyclic"]'],
    ["depth", deep, "value[0][0]"],
    ["an invalid date", [new Date(Number.NaN)], "value[0]"],
    ["a year that Python lacks", new Date(8.64e15), "275760"],
    [
      "a class instance",
      { p: Promise.resolve() },
      'value["p"] cannot go into the sandbox: a Promise',
    ],
    ["a description", [new UnconvertedValue("file", "<file>")], "value[0]"],
    ["something inside a map", new Map([["k", new Set([Symbol("s")])]]), 'value["k"][0]'],
  ];

  test.each(refused)("refuses %s and names its place", (_, value, place) => {
    expect(() => encodeValue(value)).toThrowError(
      expect.objectContaining({
        code: "INVALID_INPUT",
        message: expect.stringContaining(place),
      }),
    );
  });

  test("what was encoded decodes to the same", () => {
    const value = {
      list: [1, "a", null, { b: [true] }],
      big: 2n ** 80n,
      bytes: new Uint8Array([1, 2, 3]),
      when: new Date(1_700_000_000_123),
      set: new Set(["x"]),
      map: new Map([[1, new Map([["$", Number.NaN]])]]),
    };
    expect(decodeValue(JSON.parse(JSON.stringify(encodeValue(value))))).toEqual(value);
  });
});
