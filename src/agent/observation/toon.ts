import type { Json } from "../../protocol/values.js";
import { plainOf } from "./plain-value.js";
import { loadTokenizer, type Tokenizer } from "./tokens.js";

export interface Rendered {
  /** The value, then a line for each part that is missing. */
  readonly text: string;
  readonly tokens: number;
  readonly format: "toon" | "json";
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

  /** Without `toon`, always JSON. */
  static async load({ toon = true, tokenizer }: { toon?: boolean; tokenizer?: Tokenizer } = {}) {
    const counting = tokenizer ?? (await loadTokenizer());
    if (!toon) return new Renderer(counting, undefined);
    const { encode } = await import("@toon-format/toon");
    return new Renderer(counting, (value) => encode(value));
  }

  /** Takes what `getVariable` returns, and any other JavaScript value. */
  render(value: unknown): Rendered {
    const plain = plainOf(value);
    const notes = plain.notes.map((note) => `\n(${note})`).join("");
    const json = this.#counted("json", JSON.stringify(plain.value) + notes);
    const isStructure = plain.value !== null && typeof plain.value === "object";
    if (!isStructure || !plain.isToonable || this.#encode === undefined) return json;
    const toon = this.#counted("toon", this.#encode(plain.value) + notes);
    return toon.tokens < json.tokens ? toon : json;
  }

  #counted(format: Rendered["format"], text: string): Rendered {
    return { text, format, tokens: this.#tokenizer.count(text) };
  }
}
