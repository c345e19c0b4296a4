const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** One line, or a note that one exceeded the limit and was dropped. */
export type DecodedLine = { readonly text: string } | { readonly limit: number };

/** Takes a stream of bytes apart into lines, and never holds more than the longest one allowed. */
export class LineDecoder {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isTooLong = false;

  constructor(most: number) {
    this.#most = most;
  }

  *take(chunk: Buffer): Generator<DecodedLine, void, undefined> {
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
    if (this.#isTooLong) return;
    this.#bytes += piece.length;
    if (this.#bytes <= this.#most) {
      if (piece.length > 0) this.#pieces.push(piece);
      return;
    }
    this.#isTooLong = true;
    this.#pieces = [];
  }

  #finish(): DecodedLine {
    const whole = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    const isTooLong = this.#isTooLong;
    this.#pieces = [];
    this.#bytes = 0;
    this.#isTooLong = false;
    if (isTooLong || whole === undefined) return { limit: this.#most };
    const end = whole.at(-1) === RETURN ? whole.length - 1 : whole.length;
    return { text: whole.toString("utf8", 0, end) };
  }
}
