import { isPlain } from "../../config/layers.js";
import { describeError } from "../../errors.js";
import { ANYTHING, parametersOf, type ToolParameters } from "./parameters.js";

const MOST_ISSUES = 8;
const LONGEST_ISSUE = 300;

/** Takes what Python gave: the input as the tool wants it, or what is wrong with it. */
export type Validate = (
  input: unknown,
) => Promise<{ readonly value: unknown } | { readonly wrong: string }>;

export interface ToolSchema {
  readonly parameters: ToolParameters;
  /** Undefined where the library does not give one. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  readonly validate: Validate;
}

interface Issue {
  readonly message: string;
  readonly path?: readonly unknown[];
}

/** A library's own face, https://standardschema.dev. */
interface Standard {
  readonly validate: (value: unknown) => unknown;
  readonly jsonSchema?: { readonly input?: (options: object) => unknown };
}

/** As the AI SDK wraps a JSON Schema. */
interface Wrapped {
  readonly jsonSchema: unknown;
  readonly validate?: ((value: unknown) => unknown) | undefined;
}

/** Reads a schema; undefined if it is not one of an object. */
export function readSchema(given: object | undefined): ToolSchema | undefined {
  if (given === undefined) {
    return { parameters: ANYTHING, json: undefined, validate: async (value) => ({ value }) };
  }
  const standard: unknown = Reflect.get(given, "~standard");
  if (isStandard(standard)) {
    const json = standardJson(given, standard);
    const parameters = json === undefined ? ANYTHING : parametersOf(json);
    return parameters && { parameters, json, validate: (input) => judgeStandard(standard, input) };
  }
  const made: unknown = typeof given === "function" ? given() : given;
  if (!isWrapped(made)) return undefined;
  const json = isPlain(made.jsonSchema) ? made.jsonSchema : undefined;
  const parameters = isThenable(made.jsonSchema) ? ANYTHING : parametersOf(made.jsonSchema);
  return parameters && { parameters, json, validate: (input) => judgeWrapped(made, input) };
}

function standardJson(given: object, standard: Standard): ToolSchema["json"] {
  const convert = standard.jsonSchema?.input;
  if (convert !== undefined) {
    const json = convert({ target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } });
    return isPlain(json) ? json : undefined;
  }
  // Older versions of zod only give the names.
  const shape: unknown = Reflect.get(given, "shape");
  if (typeof shape !== "object" || shape === null) return undefined;
  const properties = Object.fromEntries(Object.keys(shape).map((name) => [name, {}]));
  return { type: "object", properties, required: Object.keys(shape) };
}

async function judgeStandard(standard: Standard, input: unknown): ReturnType<Validate> {
  const outcome = (await standard.validate(input)) as {
    issues?: readonly Issue[];
    value?: unknown;
  };
  if (outcome.issues === undefined) return { value: outcome.value };
  const told = outcome.issues.slice(0, MOST_ISSUES).map(issueText);
  const more = outcome.issues.length - told.length;
  return { wrong: [...told, ...(more > 0 ? [`and ${more} more`] : [])].join("; ") };
}

async function judgeWrapped({ validate }: Wrapped, input: unknown): ReturnType<Validate> {
  if (validate === undefined) return { value: input };
  const outcome = (await validate(input)) as { success: boolean; value?: unknown; error?: unknown };
  if (outcome.success) return { value: outcome.value };
  return { wrong: describeError(outcome.error).slice(0, LONGEST_ISSUE * MOST_ISSUES) };
}

function issueText({ message, path = [] }: Issue): string {
  const place = path
    .map((step) => (typeof step === "object" && step !== null ? Reflect.get(step, "key") : step))
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      return index === 0 ? String(step) : `.${String(step)}`;
    })
    .join("");
  return (place === "" ? message : `${place}: ${message}`).slice(0, LONGEST_ISSUE);
}

function isStandard(value: unknown): value is Standard {
  return typeof value === "object" && value !== null && "validate" in value;
}

function isWrapped(value: unknown): value is Wrapped {
  return typeof value === "object" && value !== null && "jsonSchema" in value;
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value;
}
