import { ToolError } from "../tool.js";

const MAX_DEPTH = 100;

/** A copy of a value with every text in it replaced, also keys and what bytes say. */
export function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (depth > MAX_DEPTH) {
    throw new ToolError("BAD_RESULT", `a value is nested more than ${MAX_DEPTH} levels deep`);
  }
  const map = (item: unknown) => mapTexts(item, change, depth + 1);
  if (Array.isArray(value)) return value.map(map);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [map(key), map(item)]));
  if (value instanceof Set) return new Set([...value].map(map));
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return mapBytes(value, change);
  if ("toJSON" in value && typeof value.toJSON === "function") return map(value.toJSON());
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), map(item)]));
}

export function hasText(value: unknown, isWanted: (text: string) => boolean): boolean {
  let isFound = false;
  mapTexts(value, (text) => {
    isFound ||= isWanted(text);
    return text;
  });
  return isFound;
}

/** One character for each byte. */
function mapBytes(bytes: Uint8Array | ArrayBuffer, change: (text: string) => string): Uint8Array {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  const text = Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("latin1");
  const changed = change(text);
  return changed === text ? view : new Uint8Array(Buffer.from(changed, "latin1"));
}
