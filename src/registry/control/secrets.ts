import { CellarError } from "../../errors.js";
import { ToolError } from "../tool.js";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const PLACE = /\{secret:([A-Za-z_][A-Za-z0-9_]{0,63})\}/g;
/** Shorter ones occur in too many texts to be replaced. */
const SHORTEST = 6;
const MAX_DEPTH = 64;

/** Values that only the host knows: cells name them as `{secret:NAME}`, tools get them, results do not show them. */
export class Secrets {
  readonly #values: ReadonlyMap<string, string>;
  /** The longest first, as one may be part of another. */
  readonly #hidden: readonly (readonly [name: string, value: string])[];

  constructor(given: Readonly<Record<string, string>> = {}) {
    for (const [name, value] of Object.entries(given)) {
      if (NAME.test(name) && typeof value === "string" && value.length >= SHORTEST) continue;
      const why = NAME.test(name)
        ? `must be a text of at least ${SHORTEST} characters`
        : "needs a name of letters, digits and underscores";
      throw new CellarError("INVALID_CONFIG", `the secret ${JSON.stringify(name)} ${why}`);
    }
    this.#values = new Map(Object.entries(given));
    this.#hidden = [...this.#values].sort(([, one], [, other]) => other.length - one.length);
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  /** The arguments with each `{secret:NAME}` replaced by its value. */
  place<T>(value: T): T {
    return mapTexts(value, (text) =>
      text.includes("{secret:")
        ? text.replaceAll(PLACE, (_whole, name: string) => this.#valueOf(name))
        : text,
    ) as T;
  }

  /** The value with each secret replaced by `{secret:NAME}`, also in keys. */
  redact(value: unknown): unknown {
    if (this.isEmpty) return value;
    return mapTexts(value, (text) =>
      this.#hidden.reduce(
        (shown, [name, secret]) =>
          shown.includes(secret) ? shown.replaceAll(secret, `{secret:${name}}`) : shown,
        text,
      ),
    );
  }

  #valueOf(name: string): string {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    const known = [...this.#values.keys()].join(", ") || "none";
    throw new ToolError("BAD_ARGUMENTS", `there is no secret ${name}; the host has: ${known}`);
  }
}

/** A copy with every text replaced; what holds none is given back as it is. */
function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change, depth + 1)]),
  );
}
