import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { describeError } from "../../errors.js";

const LOOKED_AT = 8192;
const PIECE_BYTES = 1024 * 1024;

export type TextKind = "utf-8" | "utf-16le" | "utf-16be" | "gzip" | "binary";

export interface TextFile {
  /** Shown to the model. */
  readonly name: string;
  readonly path: string;
  readonly kind: TextKind;
  readonly bytes: number;
}

export type Looked = Pick<TextFile, "kind" | "bytes"> | { readonly problem: string };

/** Does not follow links: a file may have been replaced by one since it was found. */
function openText(path: string): Promise<FileHandle> {
  // Opening a pipe without a writer would block.
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  return open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
}

export async function lookAt(path: string): Promise<Looked> {
  try {
    await using handle = await openText(path);
    const found = await handle.stat();
    if (found.isDirectory()) return { problem: "it is a folder" };
    if (!found.isFile()) return { problem: "it is not a regular file" };
    const head = Buffer.alloc(LOOKED_AT);
    const { bytesRead } = await handle.read(head, 0, LOOKED_AT, 0);
    return { kind: kindOf(head.subarray(0, bytesRead)), bytes: found.size };
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

export async function bytesOf(path: string): Promise<Buffer> {
  await using handle = await openText(path);
  return await handle.readFile();
}

/** Each piece is valid until the next one: all share one buffer. */
export async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  await using handle = await openText(path);
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, null);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
  }
}

function kindOf(head: Buffer): TextKind {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  return head.includes(0) || head.subarray(0, 5).equals(Buffer.from("%PDF-")) ? "binary" : "utf-8";
}

export function problemOf(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOENT":
    case "ENOTDIR":
      return "the file does not exist";
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ELOOP":
      return "it is a symbolic link";
    default:
      return describeError(error);
  }
}
