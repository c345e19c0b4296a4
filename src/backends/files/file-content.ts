import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { kindOf } from "../../config/kinds.js";
import { CellarError, describeError } from "../../errors.js";

/** Text, bytes, a stream of them, or a file of the host. */
export type FileContent =
  | string
  | Uint8Array
  | AsyncIterable<Uint8Array | string>
  | { readonly file: string };

const PIECE_BYTES = 1024 * 1024;

/** In order, none larger than a megabyte. A piece is good until the next one is asked for. */
export async function* piecesOf(content: FileContent): AsyncGenerator<Uint8Array> {
  if (typeof content === "string") yield* cut(Buffer.from(content));
  else if (content instanceof Uint8Array) yield* cut(content);
  else if (isHostFile(content)) yield* hostFile(content.file);
  else if (isStream(content)) for await (const piece of content) yield* cut(bytesOf(piece));
  else throw unfit(content);
}

function isHostFile(content: unknown): content is { readonly file: string } {
  const file = (content as { readonly file?: unknown } | null)?.file;
  return typeof content === "object" && typeof file === "string" && !isStream(content);
}

function isStream(content: unknown): content is AsyncIterable<Uint8Array | string> {
  return typeof content === "object" && content !== null && Symbol.asyncIterator in content;
}

function bytesOf(piece: unknown): Uint8Array {
  if (typeof piece === "string") return Buffer.from(piece);
  if (piece instanceof Uint8Array) return piece;
  throw unfit(piece);
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

async function* hostFile(path: string): AsyncGenerator<Uint8Array> {
  await using file = await openHostFile(path);
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, null).catch((error: unknown) => {
      throw unreadable(path, describeError(error), error);
    });
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function openHostFile(path: string): Promise<FileHandle> {
  // Opening a pipe without a writer must not block.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file" : describeError(error);
    throw unreadable(path, reason, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw unreadable(path, "it is not a file");
}

function unreadable(path: string, reason: string, cause?: unknown): CellarError {
  return new CellarError(
    "INVALID_INPUT",
    `the host's file ${JSON.stringify(path)} cannot be read: ${reason}`,
    { remedy: "Give the path of a regular file that this process may read.", cause },
  );
}

function unfit(content: unknown): CellarError {
  return new CellarError("INVALID_INPUT", `${kindOf(content)} cannot be written as a file`, {
    remedy: "Give a text, bytes, a stream of them, or { file } with a path of the host.",
  });
}
