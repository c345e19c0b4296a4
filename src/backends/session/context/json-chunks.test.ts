import { describe, expect, it } from "vitest";
import type { Json } from "../../../protocol/values.js";
import { jsonPieces } from "./json-chunks.js";

const long = 'a\u00e9\u{1f600}"\\\n\0'.repeat(40_000);
const values: Readonly<Record<string, Json>> = {
  "a scalar": 1.5,
  "a text": "text",
  "a long text": long,
  "half pairs": "\ud83d".repeat(70_001),
  "empty ones": [[], {}, "", null, { a: [] }],
  "many small items": Array.from({ length: 50_000 }, (_, index) => ({ index, is: true })),
  "a long key": { [long]: 1, b: [2] },
  "long texts deep inside": { a: [{ b: { c: [long, { d: long }] } }], e: null },
};

describe("JSON in pieces", () => {
  for (const [name, value] of Object.entries(values)) {
    it(`is the same as in one: ${name}`, () => {
      expect(JSON.parse([...jsonPieces(value)].join(""))).toEqual(value);
    });
  }

  it("has no piece that is much longer than the others", () => {
    for (const piece of jsonPieces({ long: [long.repeat(20), { more: long.repeat(20) }] })) {
      expect(piece.length).toBeLessThan(1024 * 1024);
    }
  });
});
