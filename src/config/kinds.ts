import { CellarError } from "../errors.js";
import { suggestion } from "./names.js";

const LONGEST_SHOWN = 60;

/** What a value is, for a message. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "undefined":
      return "undefined";
    case "object":
      return "an object";
    default:
      return `a ${typeof value}`;
  }
}

/** A value for a message: short ones as they are, of others what they are. */
export function shownValue(value: unknown): string {
  switch (typeof value) {
    case "number":
    case "boolean":
      return String(value);
    case "string": {
      // An address may hold a password.
      const text = JSON.stringify(value.replace(/\/\/[^/@\s]*@/g, "//…@"));
      return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…"`;
    }
    default:
      return kindOf(value);
  }
}

/** An option that is not even of the right kind. */
export function wrongKind(name: string, wanted: string, value: unknown): CellarError {
  return new CellarError("INVALID_INPUT", `${name} must be ${wanted}, not ${kindOf(value)}`);
}

/** Options are an object, whatever they come from; the example shows what they look like. */
export function requireOptions<T extends object>(what: string, value: T, example?: string): T {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const wanted = example === undefined ? "an object" : `an object such as ${example}`;
  throw wrongKind(what, wanted, value);
}

/** The names that options may have, each exactly once. */
export type OptionNames<T> = Readonly<Record<keyof T, true>>;

/** Refuses unknown options: a misspelt one would silently have no effect. */
export function checkNames<T extends object>(
  what: string,
  options: T,
  known: OptionNames<T>,
  notice?: (name: string) => string | undefined,
): T {
  for (const name in options) {
    if (!Object.hasOwn(known, name)) throw unknownOption(what, name, Object.keys(known), notice);
  }
  return options;
}

function unknownOption(
  what: string,
  name: string,
  known: readonly string[],
  notice?: (name: string) => string | undefined,
): CellarError {
  const told = notice?.(name);
  const guess = told === undefined ? suggestion(name, known) : `; ${told}`;
  const message = `${what}: unknown option ${JSON.stringify(name)}${guess}`;
  return new CellarError("INVALID_CONFIG", message, {
    remedy: `Options are: ${known.join(", ")}.`,
  });
}

export function requireList<T>(what: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw wrongKind(what, "a list", value);
}

export function requireText(what: string, value: string): string {
  if (typeof value === "string") return value;
  throw wrongKind(what, "a text", value);
}

export function requireFunction<T>(what: string, value: T): T {
  if (typeof value === "function") return value;
  throw wrongKind(what, "a function", value);
}

export function checkSignal(
  signal: AbortSignal | undefined,
  name = "signal",
): AbortSignal | undefined {
  if (signal === undefined) return undefined;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (typeof aborted === "boolean" && typeof addEventListener === "function") return signal;
  throw wrongKind(name, "an AbortSignal", signal);
}

/** Settings are what JSON can say; anything else would be taken for something that it is not. */
export function checkPlain(options: object): void {
  const inside = new Set<unknown>();
  const check = (value: unknown, path: string): void => {
    switch (typeof value) {
      case "bigint":
      case "symbol":
      case "function":
        throw wrongKind(path, "a plain value", value);
      case "object":
        break;
      default:
        return;
    }
    if (value === null) return;
    if (inside.has(value)) {
      throw new CellarError("INVALID_INPUT", `${path} must be a plain value, but contains itself`);
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (!Array.isArray(value) && prototype !== null && prototype !== Object.prototype) {
      const name = value.constructor?.name ?? "something";
      throw new CellarError(
        "INVALID_INPUT",
        `${path} must be a plain value, not an instance of ${name}`,
      );
    }
    inside.add(value);
    for (const [key, inner] of Object.entries(value)) {
      check(inner, path === "" ? key : `${path}.${key}`);
    }
    inside.delete(value);
  };
  for (const [key, value] of Object.entries(options)) check(value, key);
}
