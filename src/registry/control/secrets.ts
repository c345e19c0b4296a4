import { CellarError } from "../../errors.js";
import { formsOf } from "../source/plain-value.js";
import { ToolError } from "../tool.js";
import { matchesName } from "./policy.js";
import { hasText, mapTexts } from "./texts.js";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const PLACE = /\{secret:([A-Za-z_][A-Za-z0-9_]{0,63})\}/g;
/** Shorter ones occur in too many texts to be replaced. */
const SHORTEST = 6;
const PICTURE = /^(?:image\/(?!svg)|audio\/)/;

/** A value, or a value with patterns of the tools that may get it. */
export type Secret = string | { readonly value: string; readonly tools: readonly string[] };

/** Values that only the host knows: cells name them as `{secret:NAME}`, tools get them, results do not show them. */
export class Secrets {
  readonly #secrets: ReadonlyMap<string, Exclude<Secret, string>>;
  /** In the forms in which they may occur; the longest first, as one may be part of another. */
  readonly #hidden: readonly (readonly [name: string, form: string])[];

  constructor(given: Readonly<Record<string, Secret>> = {}) {
    this.#secrets = new Map(
      Object.entries(given).map(([name, one]) => [name, readSecret(name, one)]),
    );
    this.#hidden = [...this.#secrets]
      .flatMap(([name, { value }]) => formsOf(value).map((form) => [name, form] as const))
      .sort(([, one], [, other]) => other.length - one.length);
  }

  get isEmpty(): boolean {
    return this.#secrets.size === 0;
  }

  /** The arguments for a tool with each `{secret:NAME}` replaced by its value. */
  place<T>(value: T, tool: string): T {
    return mapTexts(value, (text) =>
      text.includes("{secret:")
        ? text.replaceAll(PLACE, (_whole, name: string) => this.#valueOf(name, tool))
        : text,
    ) as T;
  }

  /** Whether a value has places for secrets. */
  isNamedIn(value: unknown): boolean {
    return hasText(value, (text) => text.search(PLACE) >= 0);
  }

  /** The value with each secret replaced by `{secret:NAME}`, also in keys and bytes. */
  redact(value: unknown): unknown {
    return this.isEmpty ? value : mapTexts(value, (text) => this.#redactText(text));
  }

  redactText(text: string): string {
    return this.isEmpty ? text : this.#redactText(text);
  }

  /** What is shown, where the data of pictures and sounds is base64. */
  redactDisplay<T extends { readonly mime: string; readonly data: string }>(display: T): T {
    if (this.isEmpty) return display;
    if (!PICTURE.test(display.mime)) return { ...display, data: this.#redactText(display.data) };
    const bytes = Buffer.from(display.data, "base64").toString("latin1");
    const shown = this.#redactText(bytes);
    if (shown === bytes) return display;
    return { ...display, data: Buffer.from(shown, "latin1").toString("base64") };
  }

  #redactText(text: string): string {
    return this.#hidden.reduce((shown, [name, form]) => {
      const place = `{secret:${name}}`;
      return withoutEnds(shown.includes(form) ? shown.replaceAll(form, place) : shown, form, place);
    }, text);
  }

  #valueOf(name: string, tool: string): string {
    const secret = this.#secrets.get(name);
    if (secret === undefined) {
      const known = [...this.#secrets.keys()].join(", ") || "none";
      throw new ToolError("BAD_ARGUMENTS", `there is no secret ${name}; the host has: ${known}`);
    }
    if (secret.tools.some((pattern) => matchesName(pattern, tool))) return secret.value;
    throw new ToolError("NOT_PERMITTED", `the secret ${name} is not for ${tool}`);
  }
}

function readSecret(name: string, given: Secret): Exclude<Secret, string> {
  const { value, tools } = typeof given === "string" ? { value: given, tools: ["*"] } : given;
  const isText = typeof value === "string" && value.length >= SHORTEST;
  if (NAME.test(name) && isText && Array.isArray(tools)) return { value, tools };
  const why = NAME.test(name)
    ? `must be a text of at least ${SHORTEST} characters, or { value, tools }`
    : "needs a name of letters, digits and underscores";
  throw new CellarError("INVALID_CONFIG", `the secret ${JSON.stringify(name)} ${why}`);
}

/** A text that was cut in the middle of a secret shows no part of it. */
function withoutEnds(text: string, secret: string, place: string): string {
  // Few texts end like a part of a secret.
  const mayBeCut = [text.slice(0, SHORTEST), text.slice(-SHORTEST)].some((end) =>
    secret.includes(end),
  );
  if (!mayBeCut || text.length < SHORTEST) return text;
  for (let length = Math.min(secret.length - 1, text.length); length >= SHORTEST; length--) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + place;
    if (text.startsWith(secret.slice(-length))) return place + text.slice(length);
  }
  return text;
}
