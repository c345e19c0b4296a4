import type { Json } from "../../../protocol/values.js";

const PIECE_CHARACTERS = 256 * 1024;
/** What is smaller is written at once, which is quicker. */
const MODEST_CHARACTERS = 64 * 1024;
const SCALAR_CHARACTERS = 8;

/** JSON of a value in pieces, so that the whole text of it never exists. */
export function* jsonPieces(value: Json): Generator<string> {
  let held = "";
  for (const token of tokens(value)) {
    held += token;
    if (held.length >= PIECE_CHARACTERS) {
      yield held;
      held = "";
    }
  }
  if (held !== "") yield held;
}

function* tokens(value: Json): Generator<string> {
  if (leftAfter(value, MODEST_CHARACTERS) >= 0) {
    yield JSON.stringify(value);
  } else if (typeof value === "string") {
    yield* textTokens(value);
  } else if (Array.isArray(value)) {
    let separator = "[";
    for (const item of value) {
      yield separator;
      yield* tokens(item);
      separator = ",";
    }
    yield "]";
  } else if (value !== null && typeof value === "object") {
    let separator = "{";
    for (const [key, item] of Object.entries(value)) {
      yield separator;
      yield* tokens(key);
      yield ":";
      yield* tokens(item);
      separator = ",";
    }
    yield "}";
  }
}

/** What a value leaves of that many characters; stops below zero. */
function leftAfter(value: Json, characters: number): number {
  if (typeof value === "string") return characters - SCALAR_CHARACTERS - value.length;
  if (value === null || typeof value !== "object") return characters - SCALAR_CHARACTERS;
  let left = characters - SCALAR_CHARACTERS;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left < 0) break;
      left = leftAfter(item, left);
    }
  } else {
    for (const key in value) {
      if (left < 0) break;
      left = leftAfter(value[key] ?? null, left - key.length);
    }
  }
  return left;
}

/** A pair of surrogates that is cut apart comes as two escapes, which readers join again. */
function* textTokens(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; at += MODEST_CHARACTERS) {
    yield JSON.stringify(text.slice(at, at + MODEST_CHARACTERS)).slice(1, -1);
  }
  yield '"';
}
