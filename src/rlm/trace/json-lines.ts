import { createReadStream, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { z } from "zod";
import { CellarError, describeError } from "../../errors.js";

/** The beginning of an object, or the zeros that a file system puts where nothing was written. */
const TORN = /^[{\0]/;
const SHOWN_OF_A_LINE = 80;
/** A text may have a million characters, and each may take six bytes. */
const LONGEST_LINE = 64_000_000;

/** Appends JSON values to a file, one per line. Written at once, so that a crash loses nothing. */
export class LineWriter implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #path: string;
  #failure: unknown;
  #isClosed = false;

  private constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** With `isNew`, fails if the file exists. */
  static async open(path: string, { isNew = false } = {}): Promise<LineWriter> {
    try {
      // Readable too, to see whether the last line is complete.
      const file = await open(path, isNew ? "ax+" : "a+", 0o600);
      try {
        const writer = new LineWriter(file, path);
        if (!(await endsWithLineBreak(file))) writer.#write("\n");
        return writer;
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      const isThere = isNew && (error as NodeJS.ErrnoException).code === "EEXIST";
      throw new CellarError("IO_ERROR", `${path} cannot be written: ${describeError(error)}`, {
        remedy: isThere
          ? "Name another file, or remove this one."
          : "Name a file in a folder that exists and is writable.",
        details: { named: path },
        cause: error,
      });
    }
  }

  /** In one write, so that lines of several writers do not mix. */
  append(value: unknown): void {
    if (this.#failure !== undefined || this.#isClosed) return;
    try {
      this.#write(`${JSON.stringify(value)}\n`);
    } catch (error) {
      this.#failure = error;
    }
  }

  #write(line: string): void {
    const bytes = Buffer.from(line);
    let written = 0;
    while (written < bytes.length) written += writeSync(this.#file.fd, bytes, written);
  }

  /** Fails if a line could not be written; nothing was written after it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file.close();
    if (this.#failure === undefined) return;
    throw new CellarError(
      "IO_ERROR",
      `${this.#path} is not complete: ${describeError(this.#failure)}`,
      { cause: this.#failure },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

async function endsWithLineBreak(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}

export interface ReadOptions<T> {
  /** What the file holds, for error messages: "a trace". */
  readonly what: string;
  /** Whether an incomplete line may come before this value, because one writer crashed and another followed. */
  readonly isBeginning?: (value: T) => boolean;
}

export interface JsonLines<T> {
  readonly lines: readonly { readonly number: number; readonly value: T }[];
  /** Numbers of lines that a crash left incomplete. */
  readonly torn: readonly number[];
}

/** Reads values of a schema. An incomplete line is reported, and is not an error. */
export async function readJsonLines<T>(
  path: string,
  schema: z.ZodType<T>,
  { what, isBeginning = () => false }: ReadOptions<T>,
): Promise<JsonLines<T>> {
  const lines: { number: number; value: T }[] = [];
  const torn: number[] = [];
  let doubtful: CellarError | undefined;
  let number = 0;
  for await (const line of linesOf(path, what)) {
    number += 1;
    if (line.trim() === "") continue;
    let json: unknown;
    try {
      json = JSON.parse(line);
    } catch (error) {
      if (doubtful !== undefined) throw doubtful;
      doubtful = damaged({ path, number, what }, `is not JSON: ${shorten(line)}`, error);
      if (!TORN.test(line)) throw doubtful;
      torn.push(number);
      continue;
    }
    const value = checked(json, schema, { path, number, what });
    if (doubtful !== undefined && !isBeginning(value)) throw doubtful;
    doubtful = undefined;
    lines.push({ number, value });
  }
  return { lines, torn };
}

interface Place {
  readonly path: string;
  readonly number: number;
  readonly what: string;
}

export function damaged({ path, number, what }: Place, problem: string, cause?: unknown) {
  return new CellarError("DAMAGED", `${path}:${number} ${problem}`, {
    remedy: `Give a file that Cellar wrote as ${what}.`,
    details: { named: path, path, line: number },
    cause,
  });
}

/** Unlike `readline`, splits at line feeds only: JSON texts may contain other separators. */
async function* linesOf(path: string, what: string): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of chunksOf(path)) {
    const [head = "", ...rest] = chunk.split("\n");
    parts.push(head);
    length += head.length;
    if (length > LONGEST_LINE) {
      throw damaged({ path, number, what }, `is longer than ${LONGEST_LINE} characters`);
    }
    if (rest.length === 0) continue;
    const tail = rest.pop() ?? "";
    yield parts.join("");
    yield* rest;
    number += rest.length + 1;
    parts = [tail];
    length = tail.length;
  }
  if (length > 0) yield parts.join("");
}

async function* chunksOf(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, "utf8");
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new CellarError(
      isMissing ? "NOT_FOUND" : "IO_ERROR",
      `${path} cannot be read: ${describeError(error)}`,
      { remedy: "Name a file that a run wrote.", details: { named: path }, cause: error },
    );
  }
}

function checked<T>(value: unknown, schema: z.ZodType<T>, place: Place): T {
  const { data, error, success } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "it" : issue.path.join(".");
  throw damaged(place, `is not a line of ${place.what}: ${where}: ${issue?.message}`, error);
}

function shorten(line: string): string {
  return line.length <= SHOWN_OF_A_LINE ? line : `${line.slice(0, SHOWN_OF_A_LINE)}…`;
}
