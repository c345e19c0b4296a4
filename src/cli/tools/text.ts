import { UnconvertedValue } from "../../protocol/values.js";
import { escapeControls } from "../terminal/terminal.js";

const LONGEST_LINE = 2_000;
const LONGEST_QUESTION = 4_000;
const ESCAPE = String.raw`\u001b`;
/** What could colour, hide or reorder text that is not its own. */
const MISLEADING = new RegExp(`[${ESCAPE}\u2028\u2029\u202a-\u202e\u2066-\u2069]`, "g");

/** A text of a server or a file, which cannot reach beyond its line. */
export function lineText(text: string): string {
  const line = text.replace(/[\r\n]+/g, " ");
  return proseText(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line);
}

/** The same with line ends. */
export function proseText(text: string): string {
  const shown = text.replace(
    MISLEADING,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return escapeControls(shown.replace(/\r\n?/g, "\n"));
}

/** What somebody is asked to approve: all of it, or how much is missing. */
export function argumentsText(given: unknown): string {
  const text = proseText(JSON.stringify(printable(given), null, 2));
  const left = text.length - LONGEST_QUESTION;
  if (left <= 0) return text;
  const half = LONGEST_QUESTION / 2;
  return `${text.slice(0, half)}\n[… ${left} characters are not shown …]\n${text.slice(-half)}`;
}

/** A value as JSON has it: numbers that it lacks as texts, bytes as base64. */
export function printable(value: unknown): unknown {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, shown: unknown) {
    // As it is, not what its toJSON() makes of it.
    const own = this[key];
    if (typeof own === "bigint") return own.toString();
    if (typeof own === "number") return Number.isFinite(own) ? own : String(own);
    if (own instanceof Map) return [...own];
    if (own instanceof Set) return [...own];
    if (own instanceof Uint8Array) return Buffer.from(own).toString("base64");
    return own instanceof UnconvertedValue ? own.text : shown;
  });
  return text === undefined ? null : JSON.parse(text);
}
