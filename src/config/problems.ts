import type { z } from "zod";
import { CellarError, type ErrorCode } from "../errors.js";
import { kindOf, shownValue } from "./kinds.js";
import { valueAt } from "./layers.js";
import { suggestion } from "./names.js";

type Issue = z.core.$ZodIssue;

/** Values of these are never shown, whatever is wrong with them. */
const SECRET = /key|token|secret|password|header|env/i;

const UNITS = { ms: " of milliseconds", MB: " of MB" } as const;

const KINDS = {
  int: "a whole number",
  number: "a number",
  string: "a text",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
} as const;

export interface CheckedOptions {
  /** What was given. */
  readonly input: unknown;
  /** Every name there is, for what is not among them. */
  readonly known: readonly string[];
  /** How a setting is called where its value came from; undefined for an option in code. */
  readonly nameOf?: ((path: string) => string | undefined) | undefined;
  readonly unitOf?: ((path: string) => keyof typeof UNITS | undefined) | undefined;
  /** Something better to say of an unknown name than which one is near. */
  readonly notice?: ((name: string) => string | undefined) | undefined;
  readonly code?: ErrorCode | undefined;
  readonly remedy?: string | undefined;
}

/** The error for options that a schema refused, in plain sentences. */
export function invalidOptions(
  what: string,
  issues: readonly Issue[],
  checked: CheckedOptions,
): CellarError {
  const problems = issues.flatMap((issue) => describeIssue(issue, checked));
  const { code = "INVALID_CONFIG", remedy = "Correct it, or leave it out for the default." } =
    checked;
  const hasUnknown = issues.some(({ code }) => code === "unrecognized_keys");
  const options = checked.known.join(", ");
  return new CellarError(code, `${what}: ${problems.join("; ")}`, {
    remedy: hasUnknown ? `Options are: ${options}.` : remedy,
    details: { problems },
  });
}

function describeIssue(issue: Issue, checked: CheckedOptions): string[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => unknownOption([...issue.path, key].join("."), checked));
  }
  const path = issue.path.join(".");
  const name = path === "" ? "the value" : (checked.nameOf?.(path) ?? `option ${path}`);
  const value = path === "" ? checked.input : valueAt(checked.input, path);
  if (value === undefined) return [`${name} is missing`];
  const shown = SECRET.test(path) ? kindOf(value) : shownValue(value);
  const inner = issue.code === "invalid_union" ? within(issue) : undefined;
  if (inner !== undefined) {
    return inner.flatMap((one) =>
      describeIssue({ ...one, path: [...issue.path, ...one.path] }, checked),
    );
  }
  return [`${name} must be ${wanted(issue, checked.unitOf?.(path))}, not ${shown}`];
}

/** The issues of the one alternative that the value is of the kind of. */
function within(issue: Extract<Issue, { code: "invalid_union" }>): readonly Issue[] | undefined {
  const isInside = ({ path, code }: Issue) => path.length > 0 || !isKind(code);
  return issue.errors.find((issues) => issues.length > 0 && issues.every(isInside));
}

function isKind(code: Issue["code"]): boolean {
  return code === "invalid_type" || code === "invalid_value";
}

function unknownOption(path: string, { known, nameOf, notice }: CheckedOptions): string {
  const name = nameOf?.(path);
  const shown = name === undefined ? `option ${JSON.stringify(path)}` : `setting ${name}`;
  const place = path.slice(0, path.lastIndexOf(".") + 1);
  const siblings = known.filter((one) => one.startsWith(place));
  const told = notice?.(path);
  const guess = told === undefined ? suggestion(path.slice(place.length), siblings) : `; ${told}`;
  return `unknown ${shown}${guess}`;
}

/** What would be right, to stand behind "must be". */
function wanted(issue: Issue, unit: keyof typeof UNITS | undefined): string {
  const counted = unit === undefined ? "" : UNITS[unit];
  switch (issue.code) {
    case "invalid_type":
      return kindWanted(issue.expected, counted);
    case "too_small":
      return `${sizeWanted(issue.origin)}${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${counted && ` ${unit}`}`;
    case "too_big":
      return `${sizeWanted(issue.origin)}${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${counted && ` ${unit}`}`;
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      return [
        ...new Set(issue.errors.flatMap((issues) => issues.map((one) => wanted(one, unit)))),
      ].join(" or ");
    default:
      return issue.message.startsWith("Invalid") ? `otherwise (${issue.message})` : issue.message;
  }
}

function sizeWanted(origin: string): string {
  return origin === "string" || origin === "array" ? `${KINDS[origin]} with a length of ` : "";
}

function kindWanted(expected: string, counted: string): string {
  const kind = Object.hasOwn(KINDS, expected) ? KINDS[expected as keyof typeof KINDS] : expected;
  return expected === "int" || expected === "number" ? kind + counted : kind;
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map(shownValue);
  return shown.length === 1 ? (shown[0] ?? "") : `one of ${shown.join(", ")}`;
}
