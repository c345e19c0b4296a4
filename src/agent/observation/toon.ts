import type { Json } from "../../protocol/values.js";
import { type Plain, plainOf } from "./plain-value.js";
import { loadTokenizer, type TokenCount, type Tokenizer } from "./tokens.js";

/** Up to this many characters of JSON both forms are counted whole. */
const COUNTED_WHOLE = 16 * 1024;
/** Of a longer array a sample has so many items. */
const SAMPLE_ITEMS = 24;
/** A sample stays small, however many arrays there are. */
const SAMPLE_VALUES = 4_000;

export interface Rendered {
  /** What the model sees: the value, then a line for each part that is missing. */
  readonly text: string;
  readonly format: "toon" | "json";
  readonly tokens: number;
  readonly isEstimate: boolean;
}

export interface RendererOptions {
  /** False: always JSON. Default: true. */
  readonly toon?: boolean | undefined;
  readonly tokenizer?: Tokenizer | undefined;
}

type Encode = (value: Json) => string;

/** Writes values for a model, as TOON where that has fewer tokens than compact JSON. */
export class Renderer {
  readonly #tokenizer: Tokenizer;
  readonly #encode: Encode | undefined;

  private constructor(tokenizer: Tokenizer, encode: Encode | undefined) {
    this.#tokenizer = tokenizer;
    this.#encode = encode;
  }

  static async load({ toon = true, tokenizer }: RendererOptions = {}): Promise<Renderer> {
    const counting = tokenizer ?? (await loadTokenizer());
    if (!toon) return new Renderer(counting, undefined);
    const { encode } = await import("@toon-format/toon");
    return new Renderer(counting, (value) => encode(value));
  }

  /** Takes what `getVariable` gives, and any other JavaScript value. */
  render(value: unknown): Rendered {
    const plain = plainOf(value);
    const json = JSON.stringify(plain.value);
    const isSmall = json.length <= COUNTED_WHOLE;
    const form = isSmall ? this.#counted(plain, json) : this.#projected(plain, json);
    if (plain.notes.length === 0) return form;
    const notes = plain.notes.map((note) => `\n(${note})`).join("");
    const { tokens } = this.#tokenizer.count(notes);
    return { ...form, text: form.text + notes, tokens: form.tokens + tokens };
  }

  #counted(plain: Plain, json: string): Rendered {
    const asJson: Rendered = { text: json, format: "json", ...this.#tokenizer.count(json) };
    const toon = this.#toonOf(plain);
    if (toon === undefined) return asJson;
    const asToon: Rendered = { text: toon, format: "toon", ...this.#tokenizer.count(toon) };
    return asToon.tokens < asJson.tokens ? asToon : asJson;
  }

  /** A sample tells how many tokens a character of each form has. */
  #projected(plain: Plain, json: string): Rendered {
    const sample = { ...plain, value: new Sampler().sample(plain.value) };
    const sampleJson = JSON.stringify(sample.value);
    const asJson = this.#scaled("json", json, sampleJson);
    const sampleToon = this.#toonOf(sample);
    if (sampleToon === undefined) return asJson;
    if (this.#count(sampleToon) >= this.#count(sampleJson)) return asJson;
    const toon = this.#toonOf(plain);
    if (toon === undefined) return asJson;
    const asToon = this.#scaled("toon", toon, sampleToon);
    // Rows that the sample left out may not fit its table, and make the text longer.
    return asToon.tokens < asJson.tokens ? asToon : asJson;
  }

  #scaled(format: Rendered["format"], text: string, sample: string): Rendered {
    const share = sample.length === 0 ? 0 : this.#count(sample) / sample.length;
    return { text, format, tokens: Math.round(share * text.length), isEstimate: true };
  }

  #count(text: string): TokenCount["tokens"] {
    return this.#tokenizer.count(text).tokens;
  }

  #toonOf({ value, isToonable }: Plain): string | undefined {
    return isToonable && value !== null && typeof value === "object"
      ? this.#encode?.(value)
      : undefined;
  }
}

/** The same value with fewer items in its arrays, taken from all over them. */
class Sampler {
  #left = SAMPLE_VALUES;

  sample(value: Json): Json {
    this.#left -= 1;
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return this.#spread(value).map((item) => this.sample(item));
    const kept: [string, Json][] = [];
    for (const [key, item] of this.#spread(Object.entries(value))) {
      kept.push([key, this.sample(item)]);
    }
    return Object.fromEntries(kept);
  }

  #spread<T>(items: readonly T[]): readonly T[] {
    const wanted = this.#left > 0 ? SAMPLE_ITEMS : 1;
    if (items.length <= wanted) return items;
    const stride = items.length / wanted;
    return Array.from({ length: wanted }, (_, index) => items[Math.floor(index * stride)] as T);
  }
}
