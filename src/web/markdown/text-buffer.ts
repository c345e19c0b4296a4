const LARGEST_START = 1_048_576;
const SPACE = 0x20;
const BAR = 0x7c;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;
const NO_BREAK_SPACE = 0xa0;
const SOFT_HYPHEN = 0xad;

/** Text that grows at its end, and can be cut there: faster than many short strings. */
export class TextBuffer {
  #units: Uint16Array;
  #length = 0;

  /** `expected` characters need no growth. */
  constructor(expected: number) {
    this.#units = new Uint16Array(Math.min(expected, LARGEST_START));
  }

  get length(): number {
    return this.#length;
  }

  cut(length: number): void {
    if (length < this.#length) this.#length = length;
  }

  add(text: string): void {
    const units = this.#room(text.length);
    let at = this.#length;
    for (let index = 0; index < text.length; index += 1) units[at++] = text.charCodeAt(index);
    this.#length = at;
  }

  /** What stands from `start` to `end`, with one space for blanks and control characters. */
  addWords(source: string, start: number, end: number, escapesBars: boolean): void {
    const units = this.#room(2 * (end - start));
    let at = this.#length;
    let wasBlank = false;
    for (let index = start; index < end; index += 1) {
      const code = source.charCodeAt(index);
      if (isBlank(code)) {
        if (!wasBlank) units[at++] = SPACE;
        wasBlank = true;
        continue;
      }
      wasBlank = false;
      if (code === SOFT_HYPHEN) continue;
      if (code === BAR && escapesBars) units[at++] = BACKSLASH;
      units[at++] = code;
    }
    this.#length = at;
  }

  text(start: number, end: number): string {
    const bytes = Buffer.from(this.#units.buffer, start * 2, Math.max(0, end - start) * 2);
    return bytes.toString("utf16le");
  }

  #room(units: number): Uint16Array {
    const needed = this.#length + units;
    if (needed > this.#units.length) {
      const larger = new Uint16Array(Math.max(needed, this.#units.length * 2));
      larger.set(this.#units.subarray(0, this.#length));
      this.#units = larger;
    }
    return this.#units;
  }
}

/** ASCII and its neighbours; the spaces of typographers stay as they are. */
export function isBlank(code: number): boolean {
  return code <= SPACE || (code >= DELETE && code <= NO_BREAK_SPACE);
}
