import type { Embedder } from "./embedder.js";

const DIMENSIONS = 1024;
const MAX_CHARACTERS = 8192;
/** Parts of words match other forms of a word. */
const GRAM = 4;
/** For scripts without spaces between words. */
const SHORT_GRAM = 2;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Words that say nothing about a subject. */
const COMMON = [
  "a an and are as at be because been by can could do each for from had has have he her his",
  "if in into is it its may more most must no not of on or our out over shall she so than",
  "that the their them then there these they this to up upon was we were what when where",
  "which who will with would you your class def error false file found import line lines",
  "list match matches none null py return self todo true txt",
].join(" ");

/** Needs no model and no network: texts are similar if they share words or parts of words. */
export class LexicalEmbedder implements Embedder {
  readonly name = "lexical";
  /** Found by `npm run calibrate`, and checked by a test. */
  readonly threshold = 0.419;
  readonly #common = new Set(COMMON.split(" "));

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return texts.map((text) => {
      signal?.throwIfAborted();
      return this.#vector(text);
    });
  }

  #vector(text: string): Float32Array {
    const counts = new Map<string, number>();
    const folded = text.slice(0, MAX_CHARACTERS).normalize("NFKC").toLowerCase();
    for (const [word] of folded.matchAll(WORD)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const vector = new Float32Array(DIMENSIONS);
    for (const [word, times] of counts) this.#add(vector, word, times);
    return normalised(vector);
  }

  #add(vector: Float32Array, word: string, times: number): void {
    const weight = this.#weight(word) * (1 + Math.log(times));
    const marked = `<${word}>`;
    const isSpaced = !UNSPACED.test(word);
    const gram = isSpaced ? GRAM : SHORT_GRAM;
    if (isSpaced) put(vector, hashOf(marked, 0, marked.length), weight);
    if (isSpaced && word.length < gram) return;
    const grams = marked.length - gram + 1;
    // All parts of a word together weigh as much as the word.
    const share = weight / Math.sqrt(grams);
    for (let start = 0; start < grams; start++) put(vector, hashOf(marked, start, gram), share);
  }

  /** Instead of document frequencies: long words are rare, short and common ones are not. */
  #weight(word: string): number {
    if (this.#common.has(word)) return 0.1;
    return Math.min(1, 0.3 + 0.12 * word.length);
  }
}

/** Half of the features are negative, so that collisions tend to cancel out. */
function put(vector: Float32Array, hash: number, weight: number): void {
  const place = hash % DIMENSIONS;
  vector[place] = (vector[place] ?? 0) + (hash >= 0x8000_0000 ? -weight : weight);
}

/** FNV-1a with a finaliser, as its low bits are poorly mixed. */
function hashOf(text: string, start: number, length: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < start + length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function normalised(vector: Float32Array): Float32Array {
  let squared = 0;
  for (const value of vector) squared += value * value;
  const length = Math.sqrt(squared);
  return length === 0 ? vector : vector.map((value) => value / length);
}
