import { type Json, UnconvertedValue } from "../../protocol/values.js";

/** JSON and TOON are both written recursively. */
const MAX_DEPTH = 100;
const MAX_NOTES = 20;

export interface Plain {
  readonly value: Json;
  /** What is missing, and where. */
  readonly notes: readonly string[];
  /** TOON cannot write lone surrogates. */
  readonly isToonable: boolean;
}

/** A value as JSON; whatever JSON cannot express leaves a placeholder or a note. */
export function plainOf(value: unknown): Plain {
  const plainer = new Plainer();
  const plain = plainer.plain(value, []);
  return { value: plain, notes: plainer.notes, isToonable: plainer.isToonable };
}

type Path = readonly (string | number)[];

class Plainer {
  isToonable = true;
  readonly #notes: string[] = [];
  readonly #open = new Set<object>();

  get notes(): readonly string[] {
    const left = this.#notes.length - MAX_NOTES;
    return left > 0
      ? [...this.#notes.slice(0, MAX_NOTES), `${left} more parts are cut`]
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
    if (!text.isWellFormed()) this.isToonable = false;
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
    // As an item, the truncation marker would break the table that the rows form.
    if (isCut) this.#note(path, last.text);
    const whole = isCut ? items.slice(0, -1) : items;
    return Array.from(whole, (item, index) => this.plain(item, [...path, index]));
  }

  #view(value: ArrayBufferView, path: Path): Json {
    return value instanceof Uint8Array || value instanceof DataView
      ? `<${value.byteLength} bytes>`
      : this.#items(Array.from(value as unknown as ArrayLike<unknown>), path);
  }

  /** A list of pairs where two keys would have the same text. */
  #map(map: ReadonlyMap<unknown, unknown>, path: Path): Json {
    const names = [...map.keys()].map(nameOf);
    if (names.includes(undefined) || new Set(names).size < map.size) {
      return this.#items(
        Array.from(map, ([key, value]) => ({ key, value })),
        path,
      );
    }
    const entries = Array.from(map, ([key, value]) => [nameOf(key) ?? "", value] as const);
    return this.#entries(entries, path);
  }

  #entries(entries: readonly (readonly [string, unknown])[], path: Path): Json {
    // Unlike assignment, fromEntries accepts the key `__proto__`.
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

/** The key as text; undefined for objects, which have none. */
function nameOf(key: unknown): string | undefined {
  if (key instanceof Date) return key.toISOString();
  if (key instanceof UnconvertedValue) return key.text;
  return key !== null && typeof key === "object" ? undefined : String(key);
}
