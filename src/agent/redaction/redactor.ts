import { setImmediate as nextTurn } from "node:timers/promises";
import { CellarError } from "../../errors.js";
import { LONGEST_SECRET, LOOK_BACK, SECRET_CATEGORIES, SECRET_RULES } from "./rules.js";

/** Between parts of this size others get their turn. */
const PART_LENGTH = 256 * 1024;

/** How many secrets of which category were replaced. */
export type Found = Readonly<Record<string, number>>;

export interface Redaction {
  readonly text: string;
  readonly found: Found;
}

export interface RedactionOptions {
  /** Categories that are left as they are. */
  readonly except?: readonly string[] | undefined;
}

interface Span {
  readonly start: number;
  readonly end: number;
  /** The place of its rule: of two that overlap, the lower one gives the name. */
  readonly rank: number;
}

/** Takes out what looks like a secret, before a text is written or shown. */
export class Redactor {
  readonly #rules: readonly { readonly pattern: RegExp; readonly rank: number }[];

  constructor({ except = [] }: RedactionOptions = {}) {
    const unknown = except.filter((name) => !SECRET_CATEGORIES.includes(name));
    if (unknown.length > 0) {
      throw new CellarError("INVALID_CONFIG", `no secrets are called ${unknown.join(", ")}`, {
        remedy: `There are: ${SECRET_CATEGORIES.join(", ")}.`,
      });
    }
    this.#rules = SECRET_RULES.map(({ category, pattern }, rank) => ({ category, pattern, rank }))
      .filter(({ category }) => !except.includes(category))
      .map(({ pattern, rank }) => ({ pattern: new RegExp(pattern), rank }));
  }

  async redact(text: string, signal?: AbortSignal): Promise<Redaction> {
    const spans: Span[] = [];
    for (let start = 0; start < text.length; start += PART_LENGTH) {
      if (start > 0) await nextTurn();
      signal?.throwIfAborted();
      spans.push(...this.#search(text, start));
    }
    return replace(text, merge(spans));
  }

  /** Matches that begin in the part from `start` on; they may end behind it. */
  #search(text: string, start: number): Span[] {
    const offset = Math.max(0, start - LOOK_BACK);
    const limit = start + PART_LENGTH;
    const window = text.slice(offset, limit + LONGEST_SECRET);
    return this.#rules.flatMap(({ pattern, rank }) => {
      const spans: Span[] = [];
      pattern.lastIndex = start - offset;
      for (let match = pattern.exec(window); match !== null; match = pattern.exec(window)) {
        const place = offset + match.index;
        if (place >= limit) break;
        const kept = match[1]?.length ?? 0;
        spans.push({ start: place + kept, end: place + match[0].length, rank });
      }
      return spans;
    });
  }
}

/** Overlapping finds become one, so that none of them shows a part of another. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start || a.rank - b.rank)) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) {
      merged.push(span);
    } else {
      const end = Math.max(last.end, span.end);
      merged[merged.length - 1] = { ...last, end, rank: Math.min(last.rank, span.rank) };
    }
  }
  return merged;
}

function replace(text: string, spans: readonly Span[]): Redaction {
  const found: Record<string, number> = {};
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end, rank } of spans) {
    const category = SECRET_RULES[rank]?.category ?? "secret";
    found[category] = (found[category] ?? 0) + 1;
    pieces.push(text.slice(done, start), `[redacted: ${category}]`);
    done = end;
  }
  return { text: pieces.join("") + text.slice(done), found };
}
