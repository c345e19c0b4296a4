import { createHash } from "node:crypto";
import { CALL_PREFIXES, OTHER_PREFIX, OTHER_PREFIXES } from "../../protocol/agent/functions.js";
import { wholeCharacters } from "../observation/tokens.js";

export type NodeStatus = "analyzed" | "pending" | "stale";

/** One call, as the tree shows it. */
export interface ResearchNode {
  readonly id: string;
  readonly name: string;
  readonly query: string;
  readonly summary: string;
  readonly turn: number;
  /** Calls whose results this one was made from. */
  readonly parents: readonly string[];
  /** Calls that its text names. */
  readonly refs: readonly string[];
  /** Earlier calls about the same subject. */
  readonly semanticRefs: readonly string[];
  readonly status: NodeStatus;
}

/** A call as the session reports it. */
export interface TrackedCall {
  /** Without one, the tracker numbers the call itself. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The beginning of the result, ending with an ellipsis if there is more. */
  readonly preview: string;
  readonly parents?: readonly string[] | undefined;
  readonly error?: string | null | undefined;
}

export const MAX_QUERY = 100;
export const MAX_SUMMARY = 200;
export const MAX_NAME = 40;
const MAX_DEPTH = 8;
const MAX_ITEMS = 20;
/** More than is shown of any text. */
const MAX_READ = 4096;

/** By lower-case name. */
const PREFIXES: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...CALL_PREFIXES, ...OTHER_PREFIXES }).map(([name, prefix]) => [
    name.toLowerCase(),
    prefix,
  ]),
);

export const ID_SOURCE = `(?:${[...new Set([...PREFIXES.values(), OTHER_PREFIX])]
  .sort((one, other) => other.length - one.length || (one < other ? -1 : 1))
  .join("|")})[1-9][0-9]{0,8}`;
const ID = new RegExp(`^${ID_SOURCE}$`);
const CUT = /(?:…|\.\.\.)$/;
/** How a session reports a list among the arguments. */
const COUNTED = /^[0-9,]+ items$/;
const BREAKS =
  /[\p{Cc}\p{Cs}\p{Z}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]+/gu;

export function isNodeId(text: string): boolean {
  return ID.test(text);
}

export function prefixOf(name: string): string {
  return PREFIXES.get(name.toLowerCase()) ?? OTHER_PREFIX;
}

export function splitId(id: string): { prefix: string; number: number } {
  const digits = id.search(/[0-9]/);
  return { prefix: id.slice(0, digits), number: Number(id.slice(digits)) };
}

/** The call as Python code on one line: `grep(pattern='error')`. */
export function queryOf({ name, arguments: given }: TrackedCall): string {
  const parts: string[] = [];
  let length = 0;
  for (const [key, value] of Object.entries(given)) {
    if (length > MAX_QUERY) break;
    const part = `${key}=${pythonText(value)}`;
    length += part.length;
    parts.push(part);
  }
  const text = oneLine(`${name.slice(0, MAX_NAME)}(${parts.join(", ")})`);
  return text.length <= MAX_QUERY ? text : `${wholeCharacters(text.slice(0, MAX_QUERY - 3))}...`;
}

export function summaryOf({ preview, error }: TrackedCall): string {
  if (error !== undefined && error !== null) return cut(`failed: ${error}`, MAX_SUMMARY);
  const shown = preview.replace(CUT, "");
  return cut(shown, MAX_SUMMARY, shown === preview);
}

/** Cut at the end of a word if one is near, with dots where something is missing. */
export function cut(text: string, limit: number, isWhole = true): string {
  const line = oneLine(text);
  if (isWhole && line.length <= limit) return line;
  const most = limit - 3;
  if (line.length <= most) return `${line}...`;
  const space = line.lastIndexOf(" ", most);
  return `${wholeCharacters(line.slice(0, space > most / 2 ? space : most)).trimEnd()}...`;
}

/** One line: text from the sandbox must not look like another line of the tree. */
function oneLine(text: string): string {
  return text.slice(0, MAX_READ).replace(BREAKS, " ").trim();
}

function pythonText(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return "...";
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quoted(value.slice(0, MAX_QUERY));
  if (typeof value !== "object") return String(value);
  const inner = (item: unknown) => pythonText(item, depth + 1);
  if (Array.isArray(value)) return `[${value.slice(0, MAX_ITEMS).map(inner).join(", ")}]`;
  const pairs = Object.entries(value).slice(0, MAX_ITEMS);
  return `{${pairs.map(([key, item]) => `${quoted(key)}: ${inner(item)}`).join(", ")}}`;
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t");
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}

/** Equal for equal calls; undefined if an argument was reported in part, so that calls may differ. */
export function keyOf({ name, arguments: given }: TrackedCall): string | undefined {
  if (textsOf(given).some((text) => CUT.test(text) || COUNTED.test(text))) return undefined;
  const text = JSON.stringify([name, sorted(given)]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

function sorted(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) {
    return typeof value === "bigint" ? `${value}n` : value;
  }
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => sorted(item, depth + 1));
  const pairs = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return pairs.map(([key, item]) => [key, sorted(item, depth + 1)]);
}

/** Every string in a value, however deep. */
export function textsOf(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap((item) => textsOf(item, depth + 1));
}
