import { isPlain } from "../../config/layers.js";
import type { JsonSchema } from "../tool.js";

const LONGEST_DESCRIPTION = 20_000;
const LONGEST_SCHEMA = 50_000;
const MOST_KEYS = 20;

/** Any arguments: whoever made the tool checks them. */
const OPEN: JsonSchema = { type: "object", additionalProperties: true };

export function boundedDescription(text: string): string {
  const whole = text.toWellFormed().trim();
  return whole.length <= LONGEST_DESCRIPTION
    ? whole
    : `${whole.slice(0, LONGEST_DESCRIPTION - 1).trimEnd()}…`;
}

/** The schema of an object, or one that takes everything if it is no such schema or too large. */
export function boundedParameters(schema: unknown): JsonSchema {
  if (!isPlain(schema) || (schema.type !== undefined && schema.type !== "object")) return OPEN;
  try {
    if (JSON.stringify(schema).length > LONGEST_SCHEMA) return OPEN;
  } catch {
    // So deep that it cannot be written down.
    return OPEN;
  }
  return { type: "object", properties: {}, ...schema };
}

/** What a schema of results says, in words. */
export function returnsOf(schema: unknown): string | undefined {
  if (!isPlain(schema)) return undefined;
  const own = typeof schema.description === "string" ? schema.description : undefined;
  if (own !== undefined) return boundedDescription(own);
  if (schema.type === "array") return "a list";
  if (!isPlain(schema.properties)) return undefined;
  const keys = Object.keys(schema.properties);
  const more = keys.length > MOST_KEYS ? ", …" : "";
  return keys.length === 0 ? "a dict" : `a dict with ${keys.slice(0, MOST_KEYS).join(", ")}${more}`;
}
