import { setImmediate as nextTurn } from "node:timers/promises";
import { CellarError } from "../../errors.js";
import { LONGEST_SECRET, LOOK_BACK, SECRET_CATEGORIES, SECRET_RULES } from "./rules.js";

/** After each part of this size the event loop gets a turn. */
const PART_LENGTH = 256 * 1024;

/** How many secrets were replaced, by category. */
export type SecretCounts = Readonly<Record<string, number>>;

export interface Redaction {
  readonly text: string;
  readonly found: SecretCounts;
}

export interface RedactionOptions {
  readonly except?: readonly string[] | undefined;
}

interface Span {
  readonly start: number;
  end: number;
  /** The index of its rule: where two overlap, the lower one names the category. */
  rank: number;
}

/** Replaces whatever looks like a secret before a text is written or shown. */
export class Redactor {
  readonly #rules: readonly { readonly pattern: RegExp; readonly rank: number }[];

  constructor({ except = [] }: RedactionOptions = {}) {
    const unknown = except.filter((name) => !SECRET_CATEGORIES.includes(name));
    if (unknown.length > 0) {
      throw new CellarError(
        "INVALID_CONFIG",
        `unknown categories in redact.except: ${unknown.join(", ")}`,
        {
          remedy: `Known categories: ${SECRET_CATEGORIES.join(", ")}.`,
        },
      );
    }
    this.#rules = SECRET_RULES.flatMap(({ category, pattern }, rank) =>
      except.includes(category) ? [] : [{ pattern: new RegExp(pattern), rank }],
    );
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

  /** Matches that begin in the part at `start`; they may end beyond it. */
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

/** Overlapping matches become one, so that no part of a secret remains. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start || a.rank - b.rank)) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push({ ...span });
    else {
      last.end = Math.max(last.end, span.end);
      last.rank = Math.min(last.rank, span.rank);
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
