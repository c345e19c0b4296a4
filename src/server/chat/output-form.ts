import { z } from "zod";
import { describeError } from "../../errors.js";
import type { ResponseFormat } from "./chat-request.js";
import { type HttpError, invalid } from "./http-error.js";

const PARAM = "response_format";
const MAX_SCHEMA_LENGTH = 50_000;
/** Of a schema with all that it refers to written out: checking an answer takes as many steps. */
const MAX_PARTS = 5_000;
const MAX_DEPTH = 50;
const MAX_TOLD = 300;

/** What an answer must look like. */
export interface OutputForm {
  readonly schema: z.ZodType;
  /** The same for the model. */
  readonly told: string;
}

export function outputFormOf(format: ResponseFormat | undefined): OutputForm | undefined {
  switch (format?.type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return {
        schema: z.record(z.string(), z.unknown()),
        told: "Finish with a dict that can be written as JSON.",
      };
    case "json_schema":
      return fromSchema(format.json_schema.schema);
  }
}

function fromSchema(schema: Readonly<Record<string, unknown>>): OutputForm {
  measure(schema);
  const text = attempt(() => JSON.stringify(schema));
  if (text.length > MAX_SCHEMA_LENGTH) throw refused("it is too long");
  return {
    schema: attempt(() => z.fromJSONSchema(schema)),
    told: `Finish with a value, not a text, that has the form of this JSON Schema:\n\n${text}`,
  };
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw refused(describeError(error).slice(0, MAX_TOLD));
  }
}

/** A small schema can say a lot by pointing to itself, and a pattern can take for ever to fit. */
function measure(root: Readonly<Record<string, unknown>>): void {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }];
  let parts = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value !== "object" || value === null) continue;
    parts += 1;
    if (parts > MAX_PARTS || depth > MAX_DEPTH) {
      throw refused("it is recursive, or too large or too deep with its references written out");
    }
    const entries = Object.entries(value);
    // Each takes two characters or more, which is known before all are looked at.
    if (entries.length > MAX_SCHEMA_LENGTH / 2) throw refused("it is too long");
    for (const [key, inner] of entries) {
      if (key === "patternProperties" || (key === "pattern" && typeof inner === "string")) {
        throw refused("patterns are not supported");
      }
      // Definitions count where they are used.
      if (depth > 0 || !/^(\$defs|definitions)$/.test(key)) {
        open.push({ value: inner, depth: depth + 1 });
      }
      if (key === "$ref" && typeof inner === "string") {
        open.push({ value: target(root, inner), depth: depth + 1 });
      }
    }
  }
}

function target(root: unknown, reference: string): unknown {
  const steps = reference.replace(/^#\/?/, "").split("/").filter(Boolean);
  return steps.reduce<unknown>((value, step) => {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const isObject = typeof value === "object" && value !== null;
    return isObject ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
  }, root);
}

function refused(why: string): HttpError {
  return invalid(`the schema of the answer cannot be used: ${why}`, PARAM);
}
