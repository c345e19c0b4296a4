import { isUtf8 } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CellarError, describeError } from "../../../errors.js";
import { temporaryTrouble } from "../../../isolation/temporary-trouble.js";
import { MAX_FRAME_BYTES } from "../../../protocol/bounds.js";
import type { ContextFormat } from "../../../protocol/messages.js";
import { encodeValue, type Json } from "../../../protocol/values.js";
import { jsonPieces } from "./json-chunks.js";

/** Up to this it travels in a message; above it is worth a file and a process of its own. */
export const SMALL_CONTEXT_BYTES = 1024 * 1024;
/** Of a text; in JSON it takes more, but no less. */
const LONG_CHARACTERS = MAX_FRAME_BYTES / 2;
const LARGEST_CONTEXT_BYTES = 4 * 1024 ** 3;
const PIECE_BYTES = 1024 * 1024;
const MOST_BYTES_PER_UNIT = 3;

export interface SmallContext {
  readonly kind: "small";
  /** What the caller passed to `initialize`. */
  readonly given: unknown;
  readonly value: Json;
}

export interface LargeContext {
  readonly kind: "large";
  readonly given: unknown;
  readonly format: ContextFormat;
  readonly bytes: number;
  isSame(other: LargeContext): boolean;
  /** Its bytes in order. A piece is good until the next one is asked for. */
  pieces(): AsyncIterable<Uint8Array>;
  /** A file to be read that holds it; made in the folder, without a name, where there is none. */
  open(folder: string): Promise<FileHandle>;
}

export type Context = SmallContext | LargeContext;

/** Fixes what was given now; files are looked at when it is asked for. */
export function contextOf(given: unknown): () => Promise<Context> {
  if (typeof given === "string") {
    const context = textContext(given);
    return async () => context;
  }
  const path = filePath(given);
  if (path !== undefined) return () => fileContext(given, path);
  const value = encodeValue(given ?? null);
  return () => valueContext(given, value);
}

/** Whether it is sure to go in pieces, so that no message need be tried. */
export function isLongText(value: Json): value is string {
  return typeof value === "string" && value.length > LONG_CHARACTERS;
}

/** A value that travels in pieces, however small; it is what it is, never the name of a file. */
export async function largeValue(given: unknown, value: Json): Promise<LargeContext> {
  if (typeof value === "string") return new LargeText(value);
  const { bytes, digest } = await measured(value);
  return new LargeValue(given, value, bytes, digest);
}

function textContext(text: string): Context {
  const isLarge = Buffer.byteLength(text) > SMALL_CONTEXT_BYTES;
  return isLarge ? new LargeText(text) : { kind: "small", given: text, value: text };
}

class LargeText implements LargeContext {
  readonly kind = "large";
  readonly given: string;
  readonly format: "utf-8" | "utf-16-le";
  readonly bytes: number;

  constructor(text: string) {
    this.given = text;
    // UTF-8 has no word for half of a pair; in UTF-16 it stays what it is.
    this.format = text.isWellFormed() ? "utf-8" : "utf-16-le";
    this.bytes = this.format === "utf-8" ? Buffer.byteLength(text) : 2 * text.length;
    refuseExcess(this.bytes);
  }

  isSame(other: LargeContext): boolean {
    return other instanceof LargeText && other.given === this.given;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const most = Math.floor(PIECE_BYTES / MOST_BYTES_PER_UNIT);
    let at = 0;
    while (at < this.given.length) {
      const end = wholeEnd(this.given, at + most);
      const encoding = this.format === "utf-8" ? "utf8" : "utf16le";
      yield buffer.subarray(0, buffer.write(this.given.slice(at, end), encoding));
      at = end;
    }
  }

  open(folder: string): Promise<FileHandle> {
    return spool(this.pieces(), folder);
  }
}

/** Where a text may be cut without parting a pair of surrogates. */
export function wholeEnd(text: string, end: number): number {
  const isHighHalf = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHighHalf ? end - 1 : Math.min(end, text.length);
}

async function valueContext(given: unknown, value: Json): Promise<Context> {
  const { bytes, digest } = await measured(value);
  return bytes <= SMALL_CONTEXT_BYTES
    ? { kind: "small", given, value }
    : new LargeValue(given, value, bytes, digest);
}

async function measured(value: Json): Promise<{ readonly bytes: number; readonly digest: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const piece of jsonPieces(value)) {
    bytes += Buffer.byteLength(piece);
    hash.update(piece);
    if (bytes > SMALL_CONTEXT_BYTES) await nextTurn();
  }
  refuseExcess(bytes);
  return { bytes, digest: hash.digest("hex") };
}

class LargeValue implements LargeContext {
  readonly kind = "large";
  readonly format = "json";
  readonly given: unknown;
  readonly bytes: number;
  readonly #value: Json;
  readonly #digest: string;

  constructor(given: unknown, value: Json, bytes: number, digest: string) {
    this.given = given;
    this.bytes = bytes;
    this.#value = value;
    this.#digest = digest;
  }

  isSame(other: LargeContext): boolean {
    return other instanceof LargeValue && other.#digest === this.#digest;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    for (const piece of jsonPieces(this.#value)) {
      const bytes = Buffer.from(piece);
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        yield bytes.subarray(at, at + PIECE_BYTES);
      }
    }
  }

  open(folder: string): Promise<FileHandle> {
    return spool(this.pieces(), folder);
  }
}

/** The path of a context that is given as a file. */
export function filePath(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null || Object.keys(given).length !== 1) return;
  const { file } = given as { file?: unknown };
  if (file === "") {
    throw new CellarError("INVALID_INPUT", "the path of the context file is empty", {
      remedy: "Give the path of a regular file of text, or the text itself.",
    });
  }
  return typeof file === "string" ? resolve(file) : undefined;
}

/** Identifies the content of a file. */
interface Stamp {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

async function fileContext(given: unknown, path: string): Promise<Context> {
  await using opened = await openFile(path);
  const { handle, stamp } = opened;
  const context = new LargeFile(given, path, stamp);
  if (stamp.size > SMALL_CONTEXT_BYTES) return context;
  const content = await handle.readFile().catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (content.length <= SMALL_CONTEXT_BYTES && isUtf8(content)) {
    return { kind: "small", given, value: content.toString("utf8") };
  }
  if (content.length !== context.bytes) throw changed(path);
  return context;
}

class LargeFile implements LargeContext {
  readonly kind = "large";
  readonly format = "utf-8";
  readonly given: unknown;
  readonly bytes: number;
  readonly #path: string;
  readonly #stamp: Stamp;
  #wasRead = false;

  constructor(given: unknown, path: string, stamp: Stamp) {
    this.given = given;
    this.bytes = Number(stamp.size);
    this.#path = path;
    this.#stamp = stamp;
    refuseExcess(this.bytes);
  }

  isSame(other: LargeContext): boolean {
    return other instanceof LargeFile && sameStamp(other.#stamp, this.#stamp);
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    await using handle = await this.open();
    const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
    let at = 0;
    while (at < this.bytes) {
      const { bytesRead } = await handle
        .read(buffer, 0, Math.min(PIECE_BYTES, this.bytes - at), at)
        .catch((error: unknown) => {
          throw unreadable(this.#path, error);
        });
      if (bytesRead === 0) throw changed(this.#path);
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async open(): Promise<FileHandle> {
    const { handle, stamp } = await openFile(this.#path);
    const isGiven = this.#wasRead ? sameStamp(this.#stamp, stamp) : isGrown(this.#stamp, stamp);
    this.#wasRead = true;
    if (isGiven) return handle;
    await handle.close();
    throw changed(this.#path);
  }
}

function sameStamp(left: Stamp, right: Stamp): boolean {
  return (["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const).every(
    (key) => left[key] === right[key],
  );
}

/** A file that is being appended to: up to its length at that time it is the one that was given. */
function isGrown(before: Stamp, after: Stamp): boolean {
  return before.dev === after.dev && before.ino === after.ino && before.size <= after.size;
}

async function openFile(
  path: string,
): Promise<{ handle: FileHandle; stamp: Stamp } & AsyncDisposable> {
  let handle: FileHandle;
  try {
    // Opening a pipe without a writer must not block.
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw unreadable(path, error);
  }
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) {
    await handle.close();
    throw new CellarError("INVALID_INPUT", `the context ${path} is not a regular file`, {
      remedy: "Give the path of a regular file of text, or the text itself.",
    });
  }
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  return {
    handle,
    stamp: { dev, ino, size, mtimeNs, ctimeNs },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Writes it to a file that has no name any more, and gives it to be read. */
async function spool(pieces: AsyncIterable<Uint8Array>, folder: string): Promise<FileHandle> {
  const path = join(folder, `cellar-context-${randomBytes(12).toString("hex")}`);
  try {
    await using writer = await open(path, "wx", 0o600);
    const reader = await open(path, "r").finally(() => unlink(path));
    try {
      for await (const piece of pieces) await writer.appendFile(piece);
      return reader;
    } catch (error) {
      await reader.close();
      throw error;
    }
  } catch (error) {
    throw temporaryTrouble("the context", path, error);
  }
}

function refuseExcess(bytes: number): void {
  if (bytes <= LARGEST_CONTEXT_BYTES) return;
  throw new CellarError(
    "TOO_LARGE",
    `the context has ${bytes} bytes; ${LARGEST_CONTEXT_BYTES} are allowed`,
    {
      remedy: "Mount its folder with the option mounts, and let cells read what they need.",
      details: { bytes, limit: LARGEST_CONTEXT_BYTES },
    },
  );
}

function changed(path: string): CellarError {
  return new CellarError("IO_ERROR", `the context ${path} has changed since it was given`, {
    remedy: "Call initialize() again to load it as it is now.",
  });
}

function unreadable(path: string, error: unknown): CellarError {
  const { code } = error as NodeJS.ErrnoException;
  const isMissing = code === "ENOENT" || code === "ENOTDIR";
  return new CellarError(
    isMissing ? "INVALID_INPUT" : "IO_ERROR",
    isMissing
      ? `the context file ${path} does not exist`
      : `the context ${path} cannot be read: ${describeError(error)}`,
    { remedy: "Check the path, and that this process may read it.", cause: error },
  );
}
