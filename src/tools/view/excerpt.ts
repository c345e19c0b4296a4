/** A text as an answer shows it: whole, or its start and its end. */
export interface Excerpt {
  readonly text: string;
  /** Characters of the whole. */
  readonly length: number;
  /** Characters that are not in `text`. */
  readonly omitted: number;
}

/** One piece of a text that is read bit by bit. */
export interface Page {
  readonly text: string;
  readonly offset: number;
  readonly length: number;
  /** Where the next piece begins; null after the last one. */
  readonly next: number | null;
}

/** `notice` goes between start and end. */
export function excerptOf(
  text: string,
  cap: number,
  notice: (omitted: number, from: number) => string,
): Excerpt {
  const { length } = text;
  if (length <= cap) return { text, length, omitted: 0 };
  const head = safeEnd(text, Math.ceil((cap * 2) / 3));
  const tail = safeStart(text, Math.max(head, length - Math.floor(cap / 3)));
  const omitted = tail - head;
  const shown = `${text.slice(0, head)}\n${notice(omitted, head)}\n${text.slice(tail)}`;
  return { text: shown, length, omitted };
}

export function pageOf(text: string, offset: number, limit: number): Page {
  const start = safeStart(text, Math.min(offset, text.length));
  // At least one whole character, to make progress.
  const end = Math.max(safeEnd(text, Math.min(start + limit, text.length)), start);
  const last = end === start && start < text.length ? Math.min(start + 2, text.length) : end;
  const next = last < text.length ? last : null;
  return { text: apart(text.slice(start, last)), offset: start, length: text.length, next };
}

/** A piece of a string keeps all of it in memory; a copy does not. */
function apart(piece: string): string {
  return Buffer.from(piece, "utf16le").toString("utf16le");
}

/** Shares a budget so that short texts stay whole and long ones get what they leave over. */
export function shares(lengths: readonly number[], budget: number, most: number): number[] {
  const given = new Array<number>(lengths.length).fill(0);
  const order = lengths.map((_, at) => at).sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0));
  let left = budget;
  order.forEach((at, done) => {
    const fair = Math.min(most, Math.floor(left / (order.length - done)));
    given[at] = fair;
    left -= Math.min(fair, lengths[at] ?? 0);
  });
  return given;
}

export function figure(value: number): string {
  return value.toLocaleString("en-US");
}

/** Not through the middle of a character. */
function safeEnd(text: string, at: number): number {
  return isSplit(text, at) ? at - 1 : at;
}

function safeStart(text: string, at: number): number {
  return isSplit(text, at) ? at + 1 : at;
}

function isSplit(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}
