import { readFileSync } from "node:fs";
import { CellarError } from "../errors.js";
import type { Contract } from "./channel.js";
import type { Envelope, Method, Params } from "./messages.js";

type Schema = Readonly<Record<string, unknown>>;

interface Message {
  readonly kind: "request" | "notification";
  readonly params: Schema;
  readonly result?: Schema;
}

/**
 * The contract as schema.json tells it, for a process that lives shorter than it takes to load the
 * schemas' library. The file is generated from the schemas, so both judge alike.
 */
export function schemaContract(path: string): Contract {
  const { envelope, messages } = readContract(path);
  const found = (method: string) =>
    Object.hasOwn(messages, method) ? messages[method] : undefined;
  return {
    envelope: (value) => (fits(envelope, value) ? (value as Envelope) : undefined),
    kind: (method) => found(method)?.kind,
    params: (method, value) =>
      fits(found(method)?.params, value) ? (value as Params<Method>) : undefined,
    result: (method, value) => (fits(found(method)?.result, value) ? value : undefined),
  };
}

function readContract(path: string): {
  envelope: Schema;
  messages: Readonly<Record<string, Message>>;
} {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new CellarError("IO_ERROR", `${path} cannot be read`, {
      remedy: "Install Cellar again: the file is a part of it.",
      cause: error,
    });
  }
}

/** Whether a value fits a schema; knows the keywords that the generator lets through, no others. */
export function fits(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return false;
  return Object.entries(schema).every(
    ([keyword, wanted]) => KEYWORDS[keyword]?.(wanted, value, schema) === true,
  );
}

type Check = (wanted: unknown, value: unknown, schema: Schema) => boolean;

const KEYWORDS: Readonly<Record<string, Check>> = {
  type: (wanted, value) => [wanted].flat().some((type) => isOfType(type, value)),
  const: (wanted, value) => value === wanted,
  enum: (wanted, value) => Array.isArray(wanted) && wanted.includes(value),
  anyOf: (wanted, value) => Array.isArray(wanted) && wanted.some((one) => fits(one, value)),
  oneOf: (wanted, value) =>
    Array.isArray(wanted) && wanted.filter((one) => fits(one, value)).length === 1,
  properties: (wanted, value) =>
    !isObject(value) ||
    (isObject(wanted) &&
      Object.entries(wanted).every(
        ([name, schema]) => !Object.hasOwn(value, name) || fits(schema, value[name]),
      )),
  required: (wanted, value) =>
    !isObject(value) ||
    (Array.isArray(wanted) && wanted.every((name) => Object.hasOwn(value, name))),
  additionalProperties: (wanted, value, { properties }) => {
    if (!isObject(value)) return true;
    const known = isObject(properties) ? properties : {};
    return Object.entries(value).every(
      ([name, member]) => Object.hasOwn(known, name) || (wanted !== false && fits(wanted, member)),
    );
  },
  propertyNames: (wanted, value) =>
    !isObject(value) || Object.keys(value).every((name) => fits(wanted, name)),
  maxProperties: (wanted, value) => !isObject(value) || Object.keys(value).length <= Number(wanted),
  items: (wanted, value) => !Array.isArray(value) || value.every((item) => fits(wanted, item)),
  minItems: (wanted, value) => !Array.isArray(value) || value.length >= Number(wanted),
  maxItems: (wanted, value) => !Array.isArray(value) || value.length <= Number(wanted),
  minLength: (wanted, value) =>
    typeof value !== "string" || isLongerThan(value, Number(wanted) - 1),
  maxLength: (wanted, value) => typeof value !== "string" || !isLongerThan(value, Number(wanted)),
  minimum: (wanted, value) => typeof value !== "number" || value >= Number(wanted),
  exclusiveMinimum: (wanted, value) => typeof value !== "number" || value > Number(wanted),
  maximum: (wanted, value) => typeof value !== "number" || value <= Number(wanted),
};

function isOfType(wanted: unknown, value: unknown): boolean {
  switch (wanted) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
      return Number.isFinite(value);
    case "null":
      return value === null;
    default:
      return false;
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Counted in code points, of which a string has at least half as many as units. */
function isLongerThan(value: string, limit: number): boolean {
  if (value.length <= limit) return false;
  if (value.length > 2 * limit) return true;
  return [...value].length > limit;
}
