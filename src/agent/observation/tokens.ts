/** Counting the tokens of a longer text takes too long for a turn: about 0.2 s for each MB. */
const COUNTED_WHOLE = 512 * 1024;
const SAMPLE_LENGTH = 8 * 1024;
const SAMPLES = 32;
/** How far a sample may extend to end at a line break. */
const LINE_SEARCH = 1024;

/** The tokenizer merges within such a run, in time that grows with the square of its length. */
const LONGEST_RUN = 128;
const LONG_RUN = new RegExp(
  ["[\\p{L}\\p{M}]", "\\s", "[^\\s\\p{L}\\p{M}\\p{N}]"]
    .map((kind) => `${kind}{${LONGEST_RUN}}`)
    .join("|"),
  "gu",
);

/** Counts tokens as current models do: the byte pairs of `o200k_base`. */
export interface Tokenizer {
  readonly encoding: "o200k_base";
  /** Approximate for very long texts, and for long runs of one kind of character. */
  count(text: string): number;
  /** The longest beginning of a text that has no more than so many tokens. */
  cut(text: string, tokens: number): string;
}

/** Loads the tables on first use: they are slow to load. */
export async function loadTokenizer(): Promise<Tokenizer> {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  // Special tokens count as ordinary text.
  const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
  return new BytePairs((text) => countTokens(text, plain));
}

class BytePairs implements Tokenizer {
  readonly encoding = "o200k_base";
  readonly #count: (text: string) => number;

  constructor(count: (text: string) => number) {
    this.#count = count;
  }

  count(text: string): number {
    if (text.length <= COUNTED_WHOLE) return this.#whole(text);
    let characters = 0;
    let tokens = 0;
    for (const sample of samplesOf(text)) {
      characters += sample.length;
      tokens += this.#whole(sample);
    }
    return Math.round((tokens / characters) * text.length);
  }

  cut(text: string, tokens: number): string {
    // A token is at least a byte, and a character at most four of them.
    if (text.length * 4 <= tokens) return text;
    let [fits, tooLong] = [0, text.length + 1];
    while (tooLong - fits > 1) {
      const middle = (fits + tooLong) >> 1;
      if (this.count(text.slice(0, middle)) <= tokens) fits = middle;
      else tooLong = middle;
    }
    return wholeCharacters(text.slice(0, fits));
  }

  /** Long runs are cut first, and each cut may add a token. */
  #whole(text: string): number {
    let tokens = 0;
    let done = 0;
    for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
      const end = index + run.length;
      tokens += this.#count(text.slice(done, end));
      done = end;
    }
    return tokens + this.#count(text.slice(done));
  }
}

function* samplesOf(text: string): Generator<string> {
  const stride = Math.floor((text.length - SAMPLE_LENGTH) / (SAMPLES - 1));
  for (let number = 0; number < SAMPLES; number += 1) {
    const start = lineStart(text, number * stride);
    const end = lineStart(text, start + SAMPLE_LENGTH);
    yield text.slice(start, end);
  }
}

function lineStart(text: string, near: number): number {
  if (near === 0 || near >= text.length) return Math.min(near, text.length);
  const found = text.slice(near, near + LINE_SEARCH).indexOf("\n");
  return found < 0 ? near : near + found + 1;
}

/** Without a half of a surrogate pair at the end. */
export function wholeCharacters(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
