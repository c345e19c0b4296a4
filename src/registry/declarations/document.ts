import { LineCounter, parseDocument } from "yaml";
import { describeError } from "../../errors.js";

/** Enough for what any file repeats on purpose; more would unfold into far more than was written. */
const MAX_ALIASES = 100;
const MAX_DEPTH = 40;

export interface Problem {
  /** Counted from 1; 0 stands for the file as a whole. */
  readonly line: number;
  readonly text: string;
}

export type Path = readonly (string | number)[];

/** A file's content as plain values that know their lines. */
export interface Document {
  readonly value: unknown;
  /** The line of the field, or of the nearest one above it that is there. */
  lineOf(path: Path): number;
}

export type ParsedDocument =
  | { readonly isParsed: true; readonly document: Document }
  | { readonly isParsed: false; readonly problems: readonly Problem[] };

export function parseDeclarations(text: string, format: "yaml" | "json"): ParsedDocument {
  const wrong = format === "json" ? jsonProblem(text) : undefined;
  if (wrong !== undefined) return { isParsed: false, problems: [wrong] };
  try {
    return parse(text);
  } catch (error) {
    const cause = error instanceof RangeError ? "it is nested too deep" : describeError(error);
    return { isParsed: false, problems: [{ line: 0, text: `cannot be read: ${cause}` }] };
  }
}

function parse(text: string): ParsedDocument {
  if (isTooDeep(text)) throw new RangeError();
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const faults = [...parsed.errors, ...parsed.warnings];
  if (faults.length > 0) {
    const problems = faults.map(({ pos: [start], message }) => ({
      line: lines.linePos(start).line,
      text: message,
    }));
    return { isParsed: false, problems };
  }
  const value: unknown = parsed.toJS({ maxAliasCount: MAX_ALIASES });
  const lineOf = (path: Path): number => {
    for (let length = path.length; length > 0; length--) {
      const start = keyStart(parsed, path.slice(0, length));
      if (start !== undefined) return lines.linePos(start).line;
    }
    return 1;
  };
  return { isParsed: true, document: { value, lineOf } };
}

/** Where the key of a field begins, or the item of a list. */
function keyStart(parsed: ReturnType<typeof parseDocument>, path: Path): number | undefined {
  const parent: unknown =
    path.length === 1 ? parsed.contents : parsed.getIn(path.slice(0, -1), true);
  const items = isCollection(parent) ? parent.items : [];
  const last = path.at(-1);
  if (typeof last === "number") return rangeOf(items[last]);
  const pair = items.find(
    (item) => isPair(item) && isScalar(item.key) && `${item.key.value}` === last,
  );
  return isPair(pair) ? rangeOf(pair.key) : undefined;
}

function isCollection(node: unknown): node is { readonly items: readonly unknown[] } {
  return typeof node === "object" && node !== null && "items" in node && Array.isArray(node.items);
}

function isPair(node: unknown): node is { readonly key: unknown } {
  return typeof node === "object" && node !== null && "key" in node;
}

function isScalar(node: unknown): node is { readonly value: unknown } {
  return typeof node === "object" && node !== null && "value" in node;
}

function rangeOf(node: unknown): number | undefined {
  if (typeof node !== "object" || node === null || !("range" in node)) return undefined;
  return Array.isArray(node.range) ? Number(node.range[0]) : undefined;
}

/** Brackets outside of strings cannot be told apart here; no declaration comes near the limit. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    if (depth > MAX_DEPTH) return true;
    // A closing bracket in a text must not pay for later opening ones.
    if (depth < 0) depth = 0;
  }
  return false;
}

function jsonProblem(text: string): Problem | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const message = describeError(error);
    const position = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
    return { line: text.slice(0, position).split("\n").length, text: `is not JSON: ${message}` };
  }
}
