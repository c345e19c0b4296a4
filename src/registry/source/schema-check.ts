import { z } from "zod";
import { isPlain } from "../../config/layers.js";
import type { JsonSchema } from "../tool.js";

/** Steps that a check may take at most: parts of the schema times parts of the value. */
const MOST_STEPS = 5_000_000;

/** Where a hostile schema could make one check take hours: expressions that backtrack, and what grows by reference. */
const LEFT_OUT = ["pattern", "patternProperties", "propertyNames", "$defs", "definitions"];
/** These hold values, not schemas. */
const VALUES = ["enum", "const", "default", "examples", "required"];

/** A check that costs little, whoever wrote the schema; what it leaves out is checked by the owner of the tool. */
export class SchemaCheck {
  readonly #schema: z.ZodType | undefined;
  readonly #mostParts: number;

  constructor(schema: JsonSchema) {
    this.#schema = schemaOf(schema);
    this.#mostParts = MOST_STEPS / Math.max(1, partsOf(schema, MOST_STEPS));
  }

  /** Undefined where the value cannot be checked here. */
  parse(value: unknown): z.ZodSafeParseResult<unknown> | undefined {
    if (partsOf(value, this.#mostParts) > this.#mostParts) return undefined;
    return this.#schema?.safeParse(value);
  }
}

/** Undefined where the schema says more than can be checked here. */
function schemaOf(schema: JsonSchema): z.ZodType | undefined {
  try {
    return z.fromJSONSchema(checkable(schema) as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return undefined;
  }
}

function checkable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(checkable);
  if (!isPlain(schema)) return schema;
  if (schema.$ref !== undefined) return {};
  const kept = Object.entries(schema).filter(([key]) => !LEFT_OUT.includes(key));
  return Object.fromEntries(
    kept.map(([key, item]) => {
      if (VALUES.includes(key)) return [key, item];
      return [key, key === "properties" ? checkableProperties(item) : checkable(item)];
    }),
  );
}

/** Their names are the tool's own: one may be called `pattern`. */
function checkableProperties(properties: unknown): unknown {
  if (!isPlain(properties)) return properties;
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, checkable(schema)]),
  );
}

/** How many values there are in a value, itself included; stops counting beyond `most`. */
function partsOf(value: unknown, most: number): number {
  let parts = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0 && parts <= most) {
    const item = waiting.pop();
    parts += 1;
    if (typeof item !== "object" || item === null) continue;
    const items: readonly unknown[] = Array.isArray(item) ? item : Object.values(item);
    if (items.length > most) return items.length;
    for (const one of items) waiting.push(one);
  }
  return parts;
}
