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
  readonly given: unknown;
  readonly value: Json;
}

export interface LargeContext {
  readonly kind: "large";
  readonly given: unknown;
  readonly format: ContextFormat;
  readonly bytes: number;
  /** Equal for the same content: the text itself, the digest of a value, or the state of a file. */
  readonly identity: string;
  /** Its bytes in order. A piece is valid until the next one is read. */
  pieces(): AsyncIterable<Uint8Array>;
  /** A readable file that holds it; one without a name in the folder, where it is not a file. */
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

/** Whether it is certainly too long for one message. */
export function isLongText(value: Json): value is string {
  return typeof value === "string" && value.length > LONG_CHARACTERS;
}

/** A value that travels in pieces, however small; never read as the name of a file. */
export async function largeValue(given: unknown, value: Json): Promise<LargeContext> {
  if (typeof value === "string") return largeText(value);
  return largeJson(given, value, await measured(value));
}

function textContext(text: string): Context {
  const isLarge = Buffer.byteLength(text) > SMALL_CONTEXT_BYTES;
  return isLarge ? largeText(text) : { kind: "small", given: text, value: text };
}

function unfiled(context: Omit<LargeContext, "kind" | "open">): LargeContext {
  refuseExcess(context.bytes);
  return { kind: "large", ...context, open: (folder) => spool(context.pieces(), folder) };
}

function largeText(text: string): LargeContext {
  // UTF-8 cannot hold half of a surrogate pair; UTF-16 can.
  const format = text.isWellFormed() ? "utf-8" : "utf-16-le";
  const bytes = format === "utf-8" ? Buffer.byteLength(text) : 2 * text.length;
  const pieces = () => textPieces(text, format === "utf-8" ? "utf8" : "utf16le");
  return unfiled({ given: text, format, bytes, identity: text, pieces });
}

async function* textPieces(text: string, encoding: "utf8" | "utf16le"): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  const most = Math.floor(PIECE_BYTES / MOST_BYTES_PER_UNIT);
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = wholeEnd(text, at + most);
    yield buffer.subarray(0, buffer.write(text.slice(at, end), encoding));
  }
}

/** Where a text may be cut without parting a pair of surrogates. */
export function wholeEnd(text: string, end: number): number {
  const isHighHalf = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isHighHalf ? end - 1 : Math.min(end, text.length);
}

async function valueContext(given: unknown, value: Json): Promise<Context> {
  const measure = await measured(value);
  return measure.bytes <= SMALL_CONTEXT_BYTES
    ? { kind: "small", given, value }
    : largeJson(given, value, measure);
}

type Measure = Pick<LargeContext, "bytes" | "identity">;

async function measured(value: Json): Promise<Measure> {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const piece of jsonPieces(value)) {
    bytes += Buffer.byteLength(piece);
    hash.update(piece);
    if (bytes > SMALL_CONTEXT_BYTES) await nextTurn();
  }
  return { bytes, identity: `json:${hash.digest("hex")}` };
}

function largeJson(given: unknown, value: Json, measure: Measure): LargeContext {
  return unfiled({ given, format: "json", ...measure, pieces: () => valuePieces(value) });
}

async function* valuePieces(value: Json): AsyncGenerator<Uint8Array> {
  for (const piece of jsonPieces(value)) {
    const bytes = Buffer.from(piece);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      yield bytes.subarray(at, at + PIECE_BYTES);
    }
  }
}

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

const STAMP_KEYS = ["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const;

type Stamp = Readonly<Record<(typeof STAMP_KEYS)[number], bigint>>;

async function fileContext(given: unknown, path: string): Promise<Context> {
  await using opened = await openFile(path);
  const { handle, stamp } = opened;
  const context = largeFile(given, path, stamp);
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

function largeFile(given: unknown, path: string, stamp: Stamp): LargeContext {
  const bytes = Number(stamp.size);
  refuseExcess(bytes);
  const identity = identityOf(stamp);
  let wasRead = false;
  const reopen = async () => {
    const opened = await openFile(path);
    const isGiven = wasRead ? identityOf(opened.stamp) === identity : isGrown(stamp, opened.stamp);
    wasRead = true;
    if (isGiven) return opened.handle;
    await opened.handle.close();
    throw changed(path);
  };
  const pieces = () => filePieces(path, bytes, reopen);
  return { kind: "large", given, format: "utf-8", bytes, identity, pieces, open: reopen };
}

async function* filePieces(
  path: string,
  bytes: number,
  reopen: () => Promise<FileHandle>,
): AsyncGenerator<Uint8Array> {
  await using handle = await reopen();
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await handle
      .read(buffer, 0, Math.min(PIECE_BYTES, bytes - at), at)
      .catch((error: unknown) => {
        throw unreadable(path, error);
      });
    if (bytesRead === 0) throw changed(path);
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

function identityOf(stamp: Stamp): string {
  return `file:${STAMP_KEYS.map((key) => stamp[key]).join("/")}`;
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
  return { handle, stamp: stats, [Symbol.asyncDispose]: () => handle.close() };
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
