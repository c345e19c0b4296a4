const CASE_BIT = 0x20;
const MULTIPLIER = 31;

/** Finds words of ASCII letters in a text, in either case, without cutting them out: pages have very many. */
export class WordTable<T> {
  readonly #entries = new Map<number, { readonly word: string; readonly value: T }>();
  readonly #longest: number;

  constructor(entries: Iterable<readonly [string, T]>) {
    let longest = 0;
    for (const [word, value] of entries) {
      const key = keyOf(word, 0, word.length);
      const other = this.#entries.get(key);
      if (other !== undefined) throw new Error(`${word} and ${other.word} have one key`);
      this.#entries.set(key, { word, value });
      longest = Math.max(longest, word.length);
    }
    this.#longest = longest;
  }

  find(text: string, start: number, end: number): T | undefined {
    const length = end - start;
    if (length > this.#longest) return undefined;
    const entry = this.#entries.get(keyOf(text, start, end));
    if (entry === undefined || entry.word.length !== length) return undefined;
    for (let index = 0; index < length; index += 1) {
      const letter = text.charCodeAt(start + index) | CASE_BIT;
      if (letter !== (entry.word.charCodeAt(index) | CASE_BIT)) return undefined;
    }
    return entry.value;
  }
}

function keyOf(text: string, start: number, end: number): number {
  let key = end - start;
  for (let index = start; index < end; index += 1) {
    key = (Math.imul(key, MULTIPLIER) + (text.charCodeAt(index) | CASE_BIT)) & 0x3fffffff;
  }
  return key;
}
