import { describe, expect, it } from "vitest";
import { SchemaCheck } from "./schema-check.js";

const ofX = (x: unknown) => ({ type: "object", properties: { x } });

describe("a schema of a hostile server", () => {
  it("has no expression that runs on the host for hours", () => {
    const check = new SchemaCheck(ofX({ type: "string", pattern: "^(a+)+$" }));
    expect(check.parse({ x: `${"a".repeat(60)}!` })?.success).toBe(true);
    expect(check.parse({ x: 1 })?.success).toBe(false);
  });

  it("cannot double its work with each reference", () => {
    const defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => {
        const next = { $ref: `#/$defs/d${n + 1}` };
        return [`d${n}`, { anyOf: [next, next] }];
      }),
    );
    const check = new SchemaCheck({
      ...ofX({ $ref: "#/$defs/d0" }),
      $defs: { ...defs, d60: { type: "string" } },
    });
    expect(check.parse({ x: 1 })?.success).toBe(true);
  });

  it("with many choices is not tried on many values", () => {
    const anyOf = Array.from({ length: 2_500 }, () => ({ type: "string" }));
    const check = new SchemaCheck(ofX({ type: "array", items: { anyOf } }));
    expect(check.parse({ x: [1] })?.success).toBe(false);
    expect(check.parse({ x: Array.from({ length: 180_000 }, () => 1) })).toBeUndefined();
  });

  it("may be nested as deeply as it likes", () => {
    let deep: Record<string, unknown> = {};
    for (let n = 0; n < 20_000; n++) deep = { items: deep };
    expect(new SchemaCheck(ofX(deep)).parse({ x: [] })?.success).not.toBe(false);
  });
});

it("properties may have the names of what is left out", () => {
  const check = new SchemaCheck({
    type: "object",
    properties: { pattern: { type: "string" }, $ref: { type: "integer" } },
    required: ["pattern"],
  });
  expect(check.parse({ pattern: "x", $ref: 1 })?.success).toBe(true);
  expect(check.parse({ pattern: 1 })?.success).toBe(false);
  expect(check.parse({ pattern: "x", $ref: "y" })?.success).toBe(false);
});
