import { isUtf8 } from "node:buffer";
import { sep } from "node:path";
import { CellarError } from "../../errors.js";

/** A name or path as the file system has it: one character for each byte, as names need not be text. */
export type RawName = string;

/** Folders in folders. A walk holds one descriptor for each. */
export const MAX_DEPTH = 64;
export const LONGEST_NAME = 255;
export const LONGEST_PATH = 3072;

const WORKSPACE = "/workspace/";
const ASCII = /^[\0-\x7f]*$/;

/** The parts of a path below the workspace; fails for one that could lead out of it. */
export function parseFilePath(path: string): RawName[] {
  const names = splitPath(path);
  const problem = problemOf(path, names);
  if (problem === undefined) return names;
  throw new CellarError(
    "INVALID_INPUT",
    `${shortened(path)} is not a valid file path: ${problem}`,
    {
      remedy: 'Give the path below /workspace, such as "data/table.csv".',
    },
  );
}

/** One way to write it: below /workspace, and as Python has it. */
export function normalPath(path: string): string {
  return shownPath(parseFilePath(path).join("/"));
}

function splitPath(path: string): RawName[] {
  if (typeof path !== "string") return [];
  return rawPath(belowWorkspace(path))?.split("/") ?? [];
}

/** As cells name it: `/workspace/a.csv` is `a.csv`. */
function belowWorkspace(path: string): string {
  return path.startsWith(WORKSPACE) ? path.slice(WORKSPACE.length) : path;
}

function problemOf(path: string, names: readonly RawName[]): string | undefined {
  if (path === "") return "it is empty";
  if (names.length === 0) return "it is not text";
  if (path.includes("\0")) return "it has a NUL character";
  if (belowWorkspace(path).startsWith("/")) return "it is outside /workspace";
  if (names.includes("..")) return 'it has ".." in it';
  if (names.some((name) => name === "" || name === ".")) return "a part of it is empty";
  if (names.some((name) => name.length > LONGEST_NAME)) {
    return `a name may have ${LONGEST_NAME} bytes`;
  }
  if (names.length > MAX_DEPTH || names.join("/").length > LONGEST_PATH) return "it is too long";
  return sep === "\\" && /[\\:]/.test(path) ? "it has a backslash or colon" : undefined;
}

function shortened(path: unknown): string {
  const text = String(path);
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

/** Undefined where the text has half characters that stand for no byte. */
function rawPath(path: string): RawName | undefined {
  if (ASCII.test(path)) return path;
  const pieces: Buffer[] = [];
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0xdc80 && code <= 0xdcff) pieces.push(Buffer.of(code - 0xdc00));
    else if (code >= 0xd800 && code <= 0xdfff) return undefined;
    else pieces.push(Buffer.from(character));
  }
  return Buffer.concat(pieces).toString("latin1");
}

/** As text. A byte that is no UTF-8 becomes U+DC80 to U+DCFF, as in Python's own file names. */
export function shownPath(raw: RawName): string {
  if (ASCII.test(raw)) return raw;
  const bytes = Buffer.from(raw, "latin1");
  if (isUtf8(bytes)) return bytes.toString();
  let text = "";
  for (let start = 0; start < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isUtf8(bytes.subarray(start, start + count)));
    text +=
      length === undefined
        ? String.fromCharCode(0xdc00 + (bytes[start] ?? 0))
        : bytes.toString("utf8", start, start + length);
    start += length ?? 1;
  }
  return text;
}

export function systemPath(raw: RawName): string | Buffer {
  return ASCII.test(raw) ? raw : Buffer.from(raw, "latin1");
}
