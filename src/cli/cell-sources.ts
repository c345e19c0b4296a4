import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { CellarError } from "../errors.js";
import { MAX_SOURCE_BYTES } from "../protocol/bounds.js";
import { invalidInput } from "./failures.js";

const STDIN = "-";

/** The code of each cell to run; all of it is read before anything runs. */
export async function readCells(
  files: readonly string[],
  code: string | undefined,
): Promise<string[]> {
  if (code !== undefined && files.length > 0) {
    throw invalidInput("give either FILEs or -c CODE, not both");
  }
  if (code !== undefined) return [code];
  if (files.length === 0) {
    throw invalidInput("there is nothing to run", "Name a FILE, or give -c CODE, or - for stdin.");
  }
  if (files.filter((file) => file === STDIN).length > 1) {
    throw invalidInput("stdin (-) can be named only once");
  }
  const cells: string[] = [];
  for (const file of files) {
    const stream = file === STDIN ? process.stdin : createReadStream(file);
    cells.push(decode(await readBounded(stream, nameOf(file)), nameOf(file)));
  }
  return cells;
}

function nameOf(file: string): string {
  return file === STDIN ? "stdin" : JSON.stringify(file);
}

async function readBounded(stream: Readable, name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_SOURCE_BYTES) throw tooLarge(name);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof CellarError ? error : unreadable(name, error);
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer, name: string): string {
  if (bytes.includes(0)) throw notText(name, "it holds null bytes");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notText(name, "it is not UTF-8");
  }
}

function notText(name: string, why: string): CellarError {
  return invalidInput(`${name} is not Python source: ${why}`, "Give a text file in UTF-8.");
}

function tooLarge(name: string): CellarError {
  return new CellarError("TOO_LARGE", `${name} has more than ${MAX_SOURCE_BYTES} bytes`, {
    remedy: "Mount large data with --mount and read it in the code.",
  });
}

function unreadable(name: string, error: unknown): CellarError {
  return new CellarError("INVALID_INPUT", `${name} cannot be read: ${reasonOf(error)}`, {
    cause: error,
  });
}

function reasonOf(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOENT":
      return "there is no such file";
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case undefined:
      return String(error);
    default:
      return (error as Error).message;
  }
}
