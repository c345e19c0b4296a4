import { type Json, UnconvertedValue } from "../../protocol/values.js";

/** Both forms are written by recursion. */
const MAX_DEPTH = 100;
const SAFE_NOTES = 20;

export interface Plain {
  readonly value: Json;
  /** Where something is missing, and what. */
  readonly notes: readonly string[];
  /** TOON has no form for halves of surrogate pairs. */
  readonly isToonable: boolean;
}

/** What JSON can say of a value: nothing is dropped without a word in its place or in the notes. */
export function plainOf(value: unknown): Plain {
  const plainer = new Plainer();
  const plain = plainer.plain(value, []);
  return { value: plain, notes: plainer.told(), isToonable: plainer.isToonable };
}

type Path = readonly (string | number)[];

class Plainer {
  isToonable = true;
  readonly #notes: string[] = [];
  readonly #open = new Set<object>();

  told(): readonly string[] {
    const left = this.#notes.length - SAFE_NOTES;
    return left > 0
      ? [...this.#notes.slice(0, SAFE_NOTES), `${left} more parts are cut`]
      : this.#notes;
  }

  plain(value: unknown, path: Path): Json {
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "number":
        return Number.isFinite(value) ? value : String(value);
      case "boolean":
        return value;
      case "bigint":
        return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
      case "undefined":
        return null;
      case "function":
        return `<function ${value.name}>`;
      case "symbol":
        return `<${value.toString()}>`;
      case "object":
        return value === null ? null : this.#opened(value, path);
    }
  }

  #text(text: string): string {
    if (!isWellFormed(text)) this.isToonable = false;
    return text;
  }

  #opened(value: object, path: Path): Json {
    if (this.#open.has(value)) return "<contains itself>";
    if (path.length >= MAX_DEPTH) return "<nested too deep>";
    this.#open.add(value);
    const plain = this.#object(value, path);
    this.#open.delete(value);
    return plain;
  }

  #object(value: object, path: Path): Json {
    if (Array.isArray(value)) return this.#items(value, path);
    if (value instanceof Set) return this.#items([...value], path);
    if (value instanceof Map) return this.#map(value, path);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (value instanceof UnconvertedValue) return this.#unconverted(value, path);
    if (ArrayBuffer.isView(value)) return this.#view(value, path);
    if (value instanceof ArrayBuffer) return `<${value.byteLength} bytes>`;
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return this.plain(value.toJSON(), [...path, "toJSON"]);
    }
    return this.#entries(Object.entries(value), path);
  }

  #items(items: readonly unknown[], path: Path): Json[] {
    const last = items.at(-1);
    const isCut =
      last instanceof UnconvertedValue && last.type === "truncated" && last.items === undefined;
    // The note that ends a cut array would spoil the table that its rows make.
    if (isCut) this.#note(path, last.text);
    const whole = isCut ? items.slice(0, -1) : items;
    return Array.from(whole, (item, index) => this.plain(item, [...path, index]));
  }

  #view(value: ArrayBufferView, path: Path): Json {
    return value instanceof Uint8Array || value instanceof DataView
      ? `<${value.byteLength} bytes>`
      : this.#items(Array.from(value as unknown as ArrayLike<unknown>), path);
  }

  /** Keys that would read the same are told apart by a list of pairs. */
  #map(map: ReadonlyMap<unknown, unknown>, path: Path): Json {
    const names = [...map.keys()].map(nameOf);
    const isNamed = names.every((name) => name !== undefined) && new Set(names).size === map.size;
    if (!isNamed) {
      const pairs = [...map].map(([key, value]) => ({ key, value }));
      return this.#items(pairs, path);
    }
    const values = [...map.values()];
    return this.#entries(
      names.map((name, index) => [name as string, values[index]]),
      path,
    );
  }

  #entries(entries: readonly (readonly [string, unknown])[], path: Path): Json {
    // Unlike an assignment this takes the key `__proto__` too.
    return Object.fromEntries(
      entries.map(([key, item]) => [this.#text(key), this.plain(item, [...path, key])]),
    );
  }

  #unconverted({ type, text, items }: UnconvertedValue, path: Path): Json {
    if (items === undefined) return this.#text(text);
    this.#note(path, `${type}: ${text}`);
    return items.map((item, index) => this.plain(item, [...path, index]));
  }

  #note(path: Path, text: string): void {
    const place = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`));
    this.#notes.push(path.length === 0 ? text : `${place.join("").replace(/^\./, "")}: ${text}`);
  }
}

/** Python's True, 1 and None as keys are read as their words; other objects have no name. */
function nameOf(key: unknown): string | undefined {
  if (key instanceof Date) return key.toISOString();
  if (key instanceof UnconvertedValue) return key.text;
  return key !== null && typeof key === "object" ? undefined : String(key);
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
