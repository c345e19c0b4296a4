import { createReadStream, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { z } from "zod";
import { CellarError, describeError } from "../../errors.js";

/** The beginning of an object, or what a file system puts where nothing was written yet. */
const TORN = /^[{\0]/;
const SHOWN_OF_A_LINE = 80;
/** A text in it may be of a million characters, and each may take six. */
const LONGEST_LINE = 64_000_000;

/** A file of JSON values, one per line. What was appended outlives the death of this process. */
export class LineWriter implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #path: string;
  #failure: unknown;
  #isClosed = false;

  private constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** With `isNew` a file that is there already is left alone, and that fails. */
  static async open(path: string, { isNew = false } = {}): Promise<LineWriter> {
    try {
      // Reading tells whether the last line is whole.
      const file = await open(path, isNew ? "ax+" : "a+", 0o600);
      try {
        const writer = new LineWriter(file, path);
        if (!(await endsWhole(file))) writer.#write("\n");
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
          : "Name a file in a folder that is there and can be written to.",
        details: { named: path },
        cause: error,
      });
    }
  }

  /** In one write, so that no line of another writer comes in between. */
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

  /** Fails when a line could not be written: none was after it. */
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

async function endsWhole(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}

export interface ReadLine<T> {
  readonly number: number;
  readonly value: T;
}

export interface ReadOptions<T> {
  /** "a trace": for the reader of an error. */
  readonly what: string;
  /** Whether a torn line may come before this value, as where a writer died and another went on. */
  readonly isBeginning?: (value: T) => boolean;
}

export interface ReadLines<T> {
  readonly lines: readonly ReadLine<T>[];
  /** Numbers of lines that a dying writer left incomplete. */
  readonly torn: readonly number[];
}

/** Reads values of a schema; a line that was not written to its end is told, not a failure. */
export async function readJsonLines<T>(
  path: string,
  schema: z.ZodType<T>,
  { what, isBeginning = () => false }: ReadOptions<T>,
): Promise<ReadLines<T>> {
  const lines: ReadLine<T>[] = [];
  const torn: number[] = [];
  let doubtful: CellarError | undefined;
  let number = 0;
  for await (const line of linesOf(path, what)) {
    number += 1;
    if (line.trim() === "") continue;
    const parsed = parse(line);
    if (parsed.error !== undefined) {
      if (doubtful !== undefined) throw doubtful;
      doubtful = damaged({ path, number, what }, `is not JSON: ${shorten(line)}`, parsed.error);
      if (!TORN.test(line)) throw doubtful;
      torn.push(number);
      continue;
    }
    const value = judge(parsed.value, schema, { path, number, what });
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

/** A line of a file that does not hold what it should. */
export function damaged({ path, number, what }: Place, problem: string, cause?: unknown) {
  return new CellarError("DAMAGED", `${path}:${number} ${problem}`, {
    remedy: `Give a file that Cellar wrote as ${what}.`,
    details: { named: path, path, line: number },
    cause,
  });
}

/** Only a line feed ends a line: JSON leaves other separators in its texts as they are. */
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
      { remedy: "Name a file that was written by a run.", details: { named: path }, cause: error },
    );
  }
}

function parse(line: string): { readonly value?: unknown; readonly error?: unknown } {
  try {
    return { value: JSON.parse(line) };
  } catch (error) {
    return { error };
  }
}

function judge<T>(value: unknown, schema: z.ZodType<T>, place: Place): T {
  const { data, error, success } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "it" : issue.path.join(".");
  throw damaged(place, `is not a line of ${place.what}: ${where}: ${issue?.message}`, error);
}

function shorten(line: string): string {
  return line.length <= SHOWN_OF_A_LINE ? line : `${line.slice(0, SHOWN_OF_A_LINE)}…`;
}
