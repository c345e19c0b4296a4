import { hideSecrets } from "../../http/hide-secrets.js";
import { ToolError } from "../tool.js";

const DEEPEST = 100;
/** Shorter ones occur in too many texts. */
const SHORTEST_SECRET = 4;

/** What must not be seen outside the host, in the forms in which it may occur in a text. */
export class Secrets {
  readonly #forms: readonly string[];

  constructor(values: readonly string[]) {
    this.#forms = values.filter(({ length }) => length >= SHORTEST_SECRET).flatMap(formsOf);
  }

  hide(text: string): string {
    return hideSecrets(text, this.#forms, SHORTEST_SECRET);
  }
}

/** The forms in which a secret may occur: as it is, in addresses, in JSON, and as bytes. */
export function formsOf(secret: string): readonly string[] {
  const forms = [
    secret,
    ...encoded(secret),
    quoted(secret),
    Buffer.from(secret).toString("latin1"),
  ];
  return [...new Set([...forms, ...forms.map((form) => form.replaceAll("/", "\\/"))])];
}

/** A copy of a value from outside, without secrets; what is nested too deeply is refused. */
export function plainValue(value: unknown, secrets: Secrets, depth = 0): unknown {
  if (typeof value === "string") return secrets.hide(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEEPEST) {
    throw new ToolError("BAD_RESULT", `the result is nested more than ${DEEPEST} levels deep`);
  }
  if (Array.isArray(value)) return value.map((item) => plainValue(item, secrets, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      secrets.hide(key),
      plainValue(item, secrets, depth + 1),
    ]),
  );
}

/** In addresses, where a space may be written in two ways. */
function encoded(value: string): readonly string[] {
  return [
    encodeURIComponent(value.toWellFormed()),
    new URLSearchParams({ value }).toString().slice("value=".length),
  ];
}

function quoted(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}
