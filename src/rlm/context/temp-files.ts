import { mkdtempSync, rmSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { unlessAborted } from "../../concurrency/abort.js";
import { hostEnvironment } from "../../config/environment.js";
import { CellarError, describeError } from "../../errors.js";
import { temporaryTrouble } from "../../isolation/temporary-trouble.js";
import { lookAt, piecesOf, type TextFile } from "./file.js";

/** The limit of a context. */
export const MOST_BYTES = 4 * 1024 ** 3;

/** Temporary files for texts that are not plain files of the user. */
export class TextFolder implements AsyncDisposable {
  readonly #signal: AbortSignal | undefined;
  readonly #atExit = () => {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  };
  #folder: string | undefined;
  #files = 0;
  #bytes = 0;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Fails as soon as the text exceeds a limit. */
  async put(
    name: string,
    pieces: AsyncIterable<Uint8Array>,
    { most = MOST_BYTES }: { readonly most?: number } = {},
  ): Promise<{ readonly path: string; readonly bytes: number }> {
    const path = join(this.#open(), `text-${this.#files}`);
    this.#files += 1;
    let bytes = 0;
    try {
      await using file = await open(path, "wx", 0o600);
      for await (const piece of abortable(pieces, this.#signal)) {
        bytes += piece.byteLength;
        this.#bytes += piece.byteLength;
        if (bytes > most) throw tooMuch(name, most);
        if (this.#bytes > MOST_BYTES) throw tooMuch(name, MOST_BYTES);
        await file.appendFile(piece).catch((error: unknown) => {
          throw temporaryTrouble(name, path, error);
        });
      }
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    return { path, bytes };
  }

  /** The same text as UTF-8; undefined if it is not text. */
  async plain(text: TextFile): Promise<TextFile | undefined> {
    let current = text;
    // A compressed text may be UTF-16; one that is compressed twice is not treated as text.
    for (const steps of [["gzip"], ["utf-16le", "utf-16be"]]) {
      if (!steps.includes(current.kind)) continue;
      const { path, bytes } = await this.put(
        text.name,
        current.kind === "gzip"
          ? gunzipped(current)
          : recoded(piecesOf(current.path), current.kind),
      );
      const looked = await lookAt(path);
      current = { ...text, path, bytes, kind: "kind" in looked ? looked.kind : "binary" };
    }
    return current.kind === "utf-8" ? current : undefined;
  }

  #open(): string {
    if (this.#folder === undefined) {
      const { temporary } = hostEnvironment();
      try {
        this.#folder = mkdtempSync(join(temporary, `cellar-${process.pid}-`));
      } catch (error) {
        throw temporaryTrouble("the context", temporary, error);
      }
      process.on("exit", this.#atExit);
    }
    return this.#folder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder === undefined) return;
    await rm(this.#folder, { recursive: true, force: true });
    process.off("exit", this.#atExit);
    this.#folder = undefined;
  }
}

/** Stops waiting for a source when the signal aborts. */
async function* abortable<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  signal?.throwIfAborted();
  const items = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(items.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: the source may itself be waiting.
    void items.return?.()?.catch(() => {});
  }
}

async function* gunzipped({ path, name }: TextFile): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  const reading = pipeline(copiesOf(piecesOf(path)), gunzip).catch(() => {});
  try {
    for await (const piece of gunzip) yield piece as Uint8Array;
  } catch (error) {
    throw new CellarError(
      "INVALID_INPUT",
      `${name} could not be decompressed: ${describeError(error)}`,
      {
        remedy: "Check that the file is complete: gzip -t FILE.",
        cause: error,
      },
    );
  } finally {
    gunzip.destroy();
    await reading;
  }
}

/** The pipeline reads ahead, and pieces share one buffer. */
async function* copiesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

/** Text of another encoding as UTF-8, without a byte order mark. */
export async function* recoded(
  pieces: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding);
  for await (const piece of pieces) yield Buffer.from(decoder.decode(piece, { stream: true }));
  yield Buffer.from(decoder.decode());
}

export function tooMuch(name: string, most: number): CellarError {
  const size = most >= 1024 ** 3 ? `${most / 1024 ** 3} GB` : `${most / 1024 ** 2} MB`;
  return new CellarError("TOO_LARGE", `${name} has more than ${size}`, {
    remedy: "Give a part of it, or mount its folder so that cells read what they need.",
    details: { limit: most },
  });
}
