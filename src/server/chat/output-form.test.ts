import { describe, expect, it } from "vitest";
import { outputFormOf } from "./output-form.js";

const formOf = (schema: Record<string, unknown>) =>
  outputFormOf({ type: "json_schema", json_schema: { schema } });

describe("the form of an answer", () => {
  it("is none for text", () => {
    expect(outputFormOf(undefined)).toBeUndefined();
    expect(outputFormOf({ type: "text" })).toBeUndefined();
  });

  it("is any object for json_object", () => {
    const schema = outputFormOf({ type: "json_object" })?.schema;
    expect(schema?.safeParse({ a: [1] }).success).toBe(true);
    expect(schema?.safeParse("text").success).toBe(false);
  });

  it("is what a JSON Schema says, with what it refers to", () => {
    const form = formOf({
      type: "object",
      properties: {
        hosts: { type: "array", items: { $ref: "#/$defs/host" } },
        pattern: { type: "string" },
      },
      required: ["hosts"],
      additionalProperties: false,
      $defs: {
        host: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      },
    });
    expect(form?.schema.safeParse({ hosts: [{ name: "db-3" }] }).success).toBe(true);
    expect(form?.schema.safeParse({ hosts: [{ name: 3 }] }).success).toBe(false);
    expect(form?.schema.safeParse({ hosts: [], more: 1 }).success).toBe(false);
    expect(form?.told).toContain('"$ref":"#/$defs/host"');
  });

  const twice = (name: string) => ({
    allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }],
  });
  const laughs = Object.fromEntries(
    Array.from({ length: 14 }, (_, index) => [`d${index}`, twice(`d${index + 1}`)]),
  );
  const deep = (levels: number) => {
    let schema: Record<string, unknown> = { type: "string" };
    for (let level = 0; level < levels; level += 1) schema = { type: "array", items: schema };
    return schema;
  };

  it.each([
    ["patterns, which may take for ever", { type: "string", pattern: "^(a+)+$" }, /patterns/],
    ["patterns of names", { type: "object", patternProperties: { "(a+)+$": {} } }, /patterns/],
    [
      "patterns behind a reference",
      { $ref: "#/$defs/a", $defs: { a: { type: "string", pattern: "x" } } },
      /patterns/,
    ],
    ["schemas that contain themselves", { type: "array", items: { $ref: "#" } }, /recursive/],
    [
      "what is doubled again and again",
      { ...twice("d0"), $defs: { ...laughs, d14: { type: "object" } } },
      /too large/,
    ],
    ["what is nested too deep", deep(200), /too deep/],
    ["what is nested deeper than the stack", { $defs: deep(100_000) }, /cannot be used/],
    ["what is too long", { description: "x".repeat(60_000) }, /too long/],
    ["references to nothing", { $ref: "#/$defs/none" }, /not found/],
    ["references elsewhere", { $ref: "https://example.com/schema" }, /External/],
    ["words that are not checked", { if: { type: "string" }, else: {} }, /not supported/],
  ])("refuses %s", (_, schema, told) => {
    expect(() => formOf(schema)).toThrow(told);
  });
});
