import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { CellarError } from "../../errors.js";
import { MAX_SOURCE_BYTES } from "../../protocol/bounds.js";
import { invalidInput } from "../terminal/report-error.js";
import { isTerminal } from "../terminal/terminal.js";
import { decodeSource } from "./source-coding.js";

const STDIN = "-";
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

/** The code of each cell to run; all of it is read before anything runs. */
export async function readCells(
  files: readonly string[],
  code: readonly string[] = [],
): Promise<string[]> {
  if (code.length > 0 && files.length > 0) {
    throw invalidInput("FILE and -c CODE cannot be combined", "Give one or the other.");
  }
  if (code.length > 0) return [...code];
  if (files.length === 0) return [await readPiped()];
  if (files.filter((file) => file === STDIN).length > 1) {
    throw invalidInput("stdin (-) is named more than once", "Name it once.");
  }
  const cells: string[] = [];
  for (const file of files) cells.push(await readCell(file));
  return cells;
}

async function readPiped(): Promise<string> {
  const code = isTerminal(process.stdin) ? "" : await readCell(STDIN);
  if (code.trim() !== "") return code;
  throw invalidInput("nothing to run", "Name a FILE, give -c CODE, or write the code to stdin.");
}

async function readCell(file: string): Promise<string> {
  const stream = file === STDIN ? process.stdin : createReadStream(file);
  return decodeSource(await readBounded(stream, nameOf(file)), nameOf(file));
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

function tooLarge(name: string): CellarError {
  return new CellarError("TOO_LARGE", `${name} has more than ${MAX_SOURCE_BYTES} bytes`, {
    remedy: "Mount large data with --mount and read it in the code.",
  });
}

function unreadable(name: string, error: unknown): CellarError {
  return new CellarError("INVALID_INPUT", `${name} cannot be read: ${reasonOf(error)}`, {
    remedy: "Name a Python file that you may read, or give the code itself with -c CODE.",
    cause: error,
  });
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
