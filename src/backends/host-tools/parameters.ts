import { isPlain } from "../../config/layers.js";
import { isArgumentName } from "./names.js";

const MOST_CHOICES = 20;
const LONGEST_DEFAULT = 60;

const PYTHON_TYPES = new Map<unknown, string>(
  Object.entries({
    string: "str",
    integer: "int",
    number: "float",
    boolean: "bool",
    null: "None",
    object: "dict",
    array: "list",
  }),
);

export interface ToolParameter {
  readonly name: string;
  readonly required: boolean;
  /** In Python's words; empty where it is not known. */
  readonly type: string;
  readonly description: string;
  /** How Python writes what is taken without it. */
  readonly fallback: string;
}

/** What a function takes, in the order of its positional arguments. */
export interface ToolParameters {
  readonly listed: readonly ToolParameter[];
  /** Whether other arguments are taken too. */
  readonly open: boolean;
}

export const ANYTHING: ToolParameters = { listed: [], open: true };

/** The parameters in a JSON Schema; undefined if it does not describe an object. */
export function parametersOf(schema: unknown): ToolParameters | undefined {
  if (!isPlain(schema)) return ANYTHING;
  if (schema.type !== undefined && schema.type !== "object") return undefined;
  if (schema.type === undefined && schema.properties === undefined) return ANYTHING;
  const { properties, required, additionalProperties } = schema;
  const needed = Array.isArray(required) ? required : [];
  return {
    listed: Object.entries(isPlain(properties) ? properties : {}).map(([name, property]) => ({
      name,
      required: needed.includes(name),
      type: typeOf(property),
      description: textOf(property, "description"),
      fallback: fallbackOf(property),
    })),
    open: additionalProperties !== undefined && additionalProperties !== false,
  };
}

/** How the call is written: `search(query: str, limit: int = 10)`. */
export function signatureOf(name: string, { listed, open }: ToolParameters): string {
  const named = listed.filter((parameter) => isArgumentName(parameter.name));
  const firstOptional = named.findIndex(({ required }) => !required);
  const late = named.findIndex(
    ({ required }, index) => required && firstOptional !== -1 && index > firstOptional,
  );
  const parts = named.map(({ name: own, type, required, fallback }) => {
    const typed = type === "" ? own : `${own}: ${type}`;
    if (required) return typed;
    return type === "" ? `${own}=${fallback}` : `${typed} = ${fallback}`;
  });
  // Python allows no required argument behind an optional one, unless by name.
  if (late !== -1) parts.splice(late, 0, "*");
  if (open) parts.push("**fields");
  return `${name}(${parts.join(", ")})`;
}

/** One line for each parameter, as docstrings have them. */
export function parameterLines({ listed }: ToolParameters): string[] {
  return listed.map(({ name, type, required, description }) => {
    const notes = [type, ...(required ? [] : ["optional"])].filter((note) => note !== "");
    const head = notes.length === 0 ? name : `${name} (${notes.join(", ")})`;
    return description === "" ? head : `${head}: ${description}`;
  });
}

function typeOf(schema: unknown): string {
  if (!isPlain(schema)) return "";
  const { type, enum: choices, const: only, anyOf, oneOf, items } = schema;
  if (only !== undefined) return literal([only]);
  if (Array.isArray(choices)) return literal(choices);
  const either = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(either)) return union(either.map(typeOf));
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one })));
  const item = type === "array" ? typeOf(items) : "";
  return item === "" ? (PYTHON_TYPES.get(type) ?? "") : `list[${item}]`;
}

function union(types: readonly string[]): string {
  return types.includes("") ? "" : [...new Set(types)].join(" | ");
}

function literal(choices: readonly unknown[]): string {
  const shown = choices.slice(0, MOST_CHOICES).map(pythonOf);
  if (choices.length > MOST_CHOICES) shown.push("...");
  return `Literal[${shown.join(", ")}]`;
}

function fallbackOf(schema: unknown): string {
  if (!isPlain(schema) || schema.default === undefined) return "None";
  const written = pythonOf(schema.default);
  return written.length > LONGEST_DEFAULT ? "..." : written;
}

function pythonOf(value: unknown): string {
  switch (typeof value) {
    case "boolean":
      return value ? "True" : "False";
    case "string":
    case "number":
      return JSON.stringify(value);
    case "object":
      return value === null ? "None" : "...";
    default:
      return "...";
  }
}

function textOf(schema: unknown, member: string): string {
  const text = isPlain(schema) ? schema[member] : undefined;
  return typeof text === "string" ? text : "";
}
