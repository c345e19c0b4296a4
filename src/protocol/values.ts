import { CellarError } from "../errors.js";
import { MAX_JSON_DEPTH } from "./bounds.js";

/** Leaves space for the envelope and the two levels that a tag may add. */
const MAX_VALUE_DEPTH = Math.floor(MAX_JSON_DEPTH / 3);
const MAX_INT_DIGITS = 100_000;
const MAX_PREVIEW = 200;

const TAG = "$";

const ISO_DATETIME =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A Python value that has no JavaScript form, or not all of it: what it was, and how it looked. */
export class UnconvertedValue {
  readonly type: string;
  readonly text: string;
  /** What arrived of a collection that was cut; the pairs of a dict. */
  readonly items: readonly unknown[] | undefined;

  constructor(type: string, text: string, items?: readonly unknown[]) {
    this.type = type;
    this.text = text;
    this.items = items;
  }

  toString(): string {
    return this.text;
  }
}

/** The JavaScript form of a tagged value from inside. Never throws: what is odd becomes UnconvertedValue. */
export function decodeValue(input: unknown): unknown {
  return decode(input, 0);
}

function decode(input: unknown, depth: number): unknown {
  if (input === null || typeof input !== "object") return input;
  if (depth > MAX_VALUE_DEPTH) return new UnconvertedValue("truncated", "nested too deep");
  if (Array.isArray(input)) return input.map((item) => decode(item, depth + 1));
  if (Object.hasOwn(input, TAG)) return decodeTagged(input as Tagged, depth + 1);
  return objectOf(Object.entries(input).map(([key, item]) => [key, decode(item, depth + 1)]));
}

type Tagged = Readonly<Record<string, unknown>>;

function decodeTagged(tagged: Tagged, depth: number): unknown {
  const tag = tagged[TAG];
  if (typeof tag !== "string") return describe("unknown", tagged);
  return decodeKnown(tag, tagged, depth) ?? describe(tag, tagged);
}

function decodeKnown(tag: string, tagged: Tagged, depth: number): unknown {
  const value = tagged.v;
  if (typeof value === "string") return decodeText(tag, value);
  if (Array.isArray(value)) return decodeCollection(tag, tagged, value, depth);
  switch (tag) {
    case "timedelta":
      return typeof value === "number" ? value : undefined;
    case "ndarray":
      return decode(value, depth);
    case "dataframe":
      return decodeTable(tagged, depth);
    default:
      return undefined;
  }
}

function decodeText(tag: string, text: string): unknown {
  switch (tag) {
    case "int":
      return text.length <= MAX_INT_DIGITS && /^-?\d+$/.test(text) ? BigInt(text) : undefined;
    case "float":
      return decodeFloat(text);
    case "bytes":
      return text.length % 4 === 0 && BASE64.test(text)
        ? new Uint8Array(Buffer.from(text, "base64"))
        : undefined;
    case "datetime":
      return decodeDatetime(text);
    case "date":
    case "time":
    case "decimal":
      return text;
    default:
      return undefined;
  }
}

function decodeFloat(text: string): number | undefined {
  switch (text) {
    case "nan":
      return Number.NaN;
    case "inf":
      return Number.POSITIVE_INFINITY;
    case "-inf":
      return Number.NEGATIVE_INFINITY;
    case "-0":
      return -0;
    default:
      return undefined;
  }
}

/** A time without an offset is read as UTC. */
function decodeDatetime(text: string): Date | undefined {
  const match = ISO_DATETIME.exec(text);
  if (match === null) return undefined;
  const part = (index: number) => Number(match[index] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(part(1), part(2) - 1, part(3));
  date.setUTCHours(part(4), part(5), part(6), Number((match[7] ?? "").padEnd(3, "0").slice(0, 3)));
  if (date.toISOString().slice(0, 16) !== text.slice(0, 16)) return undefined;
  const offset = (part(9) * 3600 + part(10) * 60 + part(11)) * 1000;
  return new Date(date.getTime() - (match[8] === "-" ? -offset : offset));
}

function decodeCollection(
  tag: string,
  tagged: Tagged,
  items: readonly unknown[],
  depth: number,
): unknown {
  switch (tag) {
    case "tuple":
    case "ndarray":
    case "series":
      return noting(
        items.map((item) => decode(item, depth)),
        tagged,
      );
    case "set":
    case "frozenset":
      return new Set(items.map((item) => decode(item, depth)));
    case "dict":
      return items.every(isPair)
        ? new Map(items.map(([key, item]) => [decode(key, depth), decode(item, depth)]))
        : undefined;
    case "truncated":
      return describe(
        tag,
        tagged,
        items.map((item) => decode(item, depth)),
      );
    case "complex": {
      const [re, im] = items.map((item) => decode(item, depth));
      return typeof re === "number" && typeof im === "number" ? { re, im } : undefined;
    }
    default:
      return undefined;
  }
}

function isPair(item: unknown): item is [unknown, unknown] {
  return Array.isArray(item) && item.length === 2;
}

/** Rows as objects; a repeated column name gets a number. */
function decodeTable(tagged: Tagged, depth: number): unknown[] | undefined {
  const { columns, rows } = tagged;
  if (!Array.isArray(columns) || !Array.isArray(rows)) return undefined;
  const seen = new Map<string, number>();
  const names = columns.map((column, index) => {
    const name = nameOf(decode(column, depth), index);
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times === 0 ? name : `${name}.${times}`;
  });
  if (!rows.every((row): row is unknown[] => Array.isArray(row) && row.length === names.length)) {
    return undefined;
  }
  const objects = rows.map((row) =>
    objectOf(names.map((name, index) => [name, decode(row[index], depth)])),
  );
  return noting(objects, tagged);
}

function nameOf(label: unknown, index: number): string {
  if (Array.isArray(label)) return label.map((part) => nameOf(part, index)).join(".");
  if (label instanceof Date) return label.toISOString();
  if (label instanceof UnconvertedValue) return label.text;
  return label !== null && typeof label === "object" ? `column ${index}` : String(label);
}

/** A cut array ends with a note: it must not pass for the whole. */
function noting(items: unknown[], tagged: Tagged): unknown[] {
  if (tagged.truncated !== true) return items;
  const shape = Array.isArray(tagged.shape) ? tagged.shape : [];
  const whole = typeof shape[0] === "number" ? ` of ${shape[0]}` : "";
  return [
    ...items,
    new UnconvertedValue("truncated", `only the first ${items.length}${whole} are here`),
  ];
}

function describe(tag: string, tagged: Tagged, items?: readonly unknown[]): UnconvertedValue {
  const { type, text } = tagged;
  if (tag === "cycle")
    return new UnconvertedValue(tag, "a reference to a value that contains this one");
  return new UnconvertedValue(
    typeof type === "string" ? type : tag,
    typeof text === "string" ? text : preview(tagged),
    items,
  );
}

function preview(tagged: Tagged): string {
  const parts = Object.entries(tagged)
    .filter(([, item]) => item === null || typeof item !== "object")
    .map(([key, item]) => `${key}: ${String(item).slice(0, MAX_PREVIEW)}`);
  return `{${parts.join(", ").slice(0, MAX_PREVIEW)}}`;
}

function objectOf<T>(entries: readonly (readonly [string, T])[]): { [key: string]: T } {
  const object: { [key: string]: T } = {};
  for (const [key, value] of entries) {
    if (key === "__proto__") {
      Object.defineProperty(object, key, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else {
      object[key] = value;
    }
  }
  return object;
}

/** The tagged form of a JavaScript value, for a Python variable. */
export function encodeValue(value: unknown): Json {
  return new Encoder(false).encode(value);
}

/** As encodeValue(), for a receiver that decodes it again: descriptions of Python objects are allowed. */
export function encodeDecoded(value: unknown): Json {
  return new Encoder(true).encode(value);
}

class Encoder {
  readonly #takesOpaque: boolean;
  readonly #open = new Set<object>();
  readonly #path: (string | number)[] = [];

  constructor(takesOpaque: boolean) {
    this.#takesOpaque = takesOpaque;
  }

  encode(value: unknown): Json {
    switch (typeof value) {
      case "undefined":
        return null;
      case "string":
      case "boolean":
        return value;
      case "number":
        return encodeNumber(value);
      case "bigint":
        return encodeBigint(value);
      case "object":
        return value === null ? null : this.#encodeObject(value);
      case "function":
      case "symbol":
        throw this.#refusal(`a ${typeof value} has no Python form`);
    }
  }

  #encodeObject(value: object): Json {
    if (this.#open.has(value)) throw this.#refusal("it contains itself");
    if (this.#open.size >= MAX_VALUE_DEPTH) throw this.#refusal("it is nested too deep");
    this.#open.add(value);
    const encoded = this.#encodeOpened(value);
    this.#open.delete(value);
    return encoded;
  }

  #encodeOpened(value: object): Json {
    if (Array.isArray(value)) return this.#encodeItems(value);
    if (value instanceof Date) return this.#encodeDate(value);
    if (value instanceof Set) return { [TAG]: "set", v: this.#encodeItems([...value]) };
    if (value instanceof Map) return { [TAG]: "dict", v: this.#encodePairs([...value]) };
    if (value instanceof ArrayBuffer) return encodeBytes(new Uint8Array(value));
    if (value instanceof Uint8Array) return encodeBytes(value);
    if (value instanceof DataView) {
      return encodeBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    }
    if (ArrayBuffer.isView(value)) {
      return this.#encodeItems(Array.from(value as unknown as ArrayLike<unknown>));
    }
    if (value instanceof UnconvertedValue) return this.#encodeUnconverted(value);
    if ("toJSON" in value && typeof value.toJSON === "function") return this.encode(value.toJSON());
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw this.#refusal(`a ${value.constructor?.name || "class instance"} has no Python form`);
    }
    const entries = Object.entries(value);
    return Object.hasOwn(value, TAG)
      ? { [TAG]: "dict", v: this.#encodePairs(entries) }
      : objectOf(entries.map(([key, item]) => [key, this.#at(key, item)]));
  }

  #encodeItems(items: readonly unknown[]): Json[] {
    return Array.from(items, (item, index) => this.#at(index, item));
  }

  #encodePairs(pairs: readonly (readonly [unknown, unknown])[]): Json[] {
    return pairs.map(([key, item], index) => {
      const name = typeof key === "string" ? key : index;
      return [this.#at(name, key), this.#at(name, item)];
    });
  }

  #encodeUnconverted({ type, text, items }: UnconvertedValue): Json {
    if (!this.#takesOpaque) throw this.#refusal("it only describes a Python object");
    return items === undefined
      ? { [TAG]: "object", type, text }
      : { [TAG]: "truncated", type, text, v: this.#encodeItems(items) };
  }

  #encodeDate(date: Date): Json {
    const year = date.getUTCFullYear();
    if (Number.isNaN(year)) throw this.#refusal("it is an invalid date");
    if (year < 1 || year > 9999) throw this.#refusal(`Python has no year ${year}`);
    return { [TAG]: "datetime", v: date.toISOString().replace("Z", "+00:00") };
  }

  #at(step: string | number, item: unknown): Json {
    this.#path.push(step);
    const encoded = this.encode(item);
    this.#path.pop();
    return encoded;
  }

  #refusal(reason: string): CellarError {
    const path = this.#path.map((step) =>
      typeof step === "number" ? `[${step}]` : `[${JSON.stringify(step)}]`,
    );
    const place = `value${path.join("")}`;
    return new CellarError("INVALID_INPUT", `${place} cannot go into the sandbox: ${reason}`, {
      details: { path: [...this.#path] },
    });
  }
}

function encodeNumber(value: number): Json {
  // JSON would make a plain 0 of it.
  if (Object.is(value, -0)) return { [TAG]: "float", v: "-0" };
  if (Number.isFinite(value)) return value;
  return { [TAG]: "float", v: Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf" };
}

function encodeBigint(value: bigint): Json {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : { [TAG]: "int", v: value.toString() };
}

function encodeBytes(bytes: Uint8Array): Json {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { [TAG]: "bytes", v: view.toString("base64") };
}
