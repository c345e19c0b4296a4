const NEWLINE = 0x0a;
/** Bytes at both ends of a line that is too long, where its id may be. */
const END_BYTES = 512;
const SMALL_BYTES = 4096;

const FIRST_ID = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\b/;
const LAST_ID = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** One line, or a note that one exceeded the limit, with the id of the request that it answers if it can be read. */
export type MessageLine =
  | { readonly text: string }
  | { readonly limit: number; readonly id: number | undefined };

/** Takes a stream of bytes apart into lines, and never holds more than the longest one allowed. */
export class MessageLines {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Of a line that is too long. */
  #ends: { readonly head: Buffer; tail: Buffer } | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a line is under way that exceeds the limit already. */
  get isTooLong(): boolean {
    return this.#ends !== undefined;
  }

  *take(chunk: Buffer): Generator<MessageLine, void, undefined> {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) break;
      this.#keep(chunk.subarray(from, end));
      yield this.#finish();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(piece: Buffer): void {
    if (this.#ends !== undefined) {
      this.#ends.tail = endOf(Buffer.concat([this.#ends.tail, endOf(piece)]));
      return;
    }
    this.#bytes += piece.length;
    this.#add(piece);
    if (this.#bytes <= this.#most) return;
    const whole = Buffer.concat(this.#pieces);
    // Copies, since a part of a buffer would keep all of it.
    this.#ends = {
      head: Buffer.from(whole.subarray(0, END_BYTES)),
      tail: Buffer.from(endOf(whole)),
    };
    this.#pieces = [];
  }

  /** Small pieces are joined: many of them would need more memory than their bytes. */
  #add(piece: Buffer): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.length + piece.length <= SMALL_BYTES) {
      this.#pieces[this.#pieces.length - 1] = Buffer.concat([last, piece]);
    } else if (piece.length > 0) this.#pieces.push(piece);
  }

  #finish(): MessageLine {
    const ends = this.#ends;
    const text = ends === undefined ? Buffer.concat(this.#pieces).toString("utf8") : "";
    this.#pieces = [];
    this.#bytes = 0;
    this.#ends = undefined;
    if (ends === undefined) return { text };
    return { limit: this.#most, id: idOf(ends.head.toString(), ends.tail.toString()) };
  }
}

function endOf(bytes: Buffer): Buffer {
  return bytes.subarray(-END_BYTES);
}

/** The id of a message that cannot be parsed, found at its beginning or end. */
export function idOf(head: string, tail: string): number | undefined {
  const found = FIRST_ID.exec(head)?.[1] ?? LAST_ID.exec(tail)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The same for a message in one piece. */
export function idIn(text: string): number | undefined {
  return idOf(text.slice(0, END_BYTES), text.slice(-END_BYTES));
}
