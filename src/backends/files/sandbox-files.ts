import { unlessAborted } from "../../concurrency/abort.js";
import { checkSignal, requireOptions } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import type { Params, Result } from "../../protocol/messages.js";
import { type FileContent, piecesOf } from "./file-content.js";
import { normalPath } from "./file-path.js";
import {
  codeFault,
  type FileListing,
  fileTooLarge,
  type ReadOptions,
  unusable,
  type WorkspaceLimit,
  workspaceFull,
} from "./workspace-file.js";

/** So much one answer brings, unless the file ends. */
const PIECE_BYTES = 1024 * 1024;

export type FileMethod = "list_files" | "open_file" | "read_file" | "write_file" | "close_file";

/** A request about files, without the limits that the session adds. */
export type FileOrder<M extends FileMethod> = Omit<Params<M>, "max_bytes" | "max_files">;

export type AskFiles = <M extends FileMethod>(
  method: M,
  order: FileOrder<M>,
  attachments?: readonly Uint8Array[],
) => Promise<Result<M>>;

export interface FileOptions {
  readonly signal?: AbortSignal | undefined;
}

/** What every sandbox does by itself: files go into its /workspace and come out of it, in pieces. */
export abstract class SandboxFiles implements AsyncDisposable {
  /** Passes a request about files on to the session; for this class and the daemon. */
  abstract readonly askFiles: AskFiles;
  protected readonly workspace: WorkspaceLimit;

  constructor(workspace: WorkspaceLimit) {
    this.workspace = workspace;
  }

  abstract destroy(): Promise<void>;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }

  async listFiles(options: FileOptions = {}): Promise<FileListing> {
    const signal = signalOf(options);
    const { files, cut } = await orAborted(this.askFiles("list_files", {}), signal);
    return {
      files: files.map(({ modified, ...file }) => ({ ...file, modified: new Date(modified) })),
      isCut: cut,
    };
  }

  async putFile(path: string, content: FileContent, options: FileOptions = {}): Promise<void> {
    const signal = signalOf(options);
    const { file } = await this.#open(path, "write", signal);
    let isWhole = false;
    try {
      for await (const piece of piecesOf(content)) {
        const order = { file, attachments: [{ bytes: piece.byteLength }] };
        const written = this.askFiles("write_file", order, [piece]);
        this.#check(path, await orAborted(written, signal));
      }
      refuseAborted(signal);
      isWhole = true;
    } finally {
      const closed = this.askFiles("close_file", { file, keep: isWhole });
      if (isWhole) this.#check(path, await closed);
      else await closed.catch(() => {});
    }
  }

  async getFile(path: string, options: ReadOptions & FileOptions = {}): Promise<Buffer> {
    const signal = signalOf(options);
    const { maxBytes = this.workspace.bytes } = options;
    const { file, bytes } = await this.#open(path, "read", signal);
    try {
      if (bytes > maxBytes) throw fileTooLarge(path, bytes, maxBytes);
      const pieces: Buffer[] = [];
      for (let left = bytes; left > 0; ) {
        const answer = await orAborted(this.askFiles("read_file", { file }), signal);
        const piece = Buffer.from(this.#check(path, answer).data, "base64").subarray(0, left);
        pieces.push(piece);
        // It has become shorter meanwhile; a hostile process could send it byte by byte.
        if (piece.length < Math.min(left, PIECE_BYTES)) break;
        left -= piece.length;
      }
      return Buffer.concat(pieces);
    } finally {
      await this.askFiles("close_file", { file, keep: false }).catch(() => {});
    }
  }

  async #open(path: string, mode: "read" | "write", signal: AbortSignal | undefined) {
    const opening = this.askFiles("open_file", { path: normalPath(path), mode });
    const answer = await orAborted(opening, signal).catch((error: unknown) => {
      opening.then((late) => this.#drop(late)).catch(() => {});
      throw error;
    });
    return this.#check(path, answer);
  }

  async #drop(opened: Result<"open_file">): Promise<void> {
    if (opened.done) await this.askFiles("close_file", { file: opened.file, keep: false });
  }

  #check<A extends { readonly done: boolean }>(path: string, answer: A): A & { done: true } {
    if (answer.done) return answer as A & { done: true };
    const { problem } = answer as unknown as { readonly problem: string };
    throw this.#fault(problem, path);
  }

  #fault(problem: string, path: string): CellarError {
    const { bytes, files } = this.workspace;
    switch (problem) {
      case "EDQUOT":
      case "ENOSPC":
        return workspaceFull(bytes, "bytes");
      case "ENFILE":
        return workspaceFull(files, "files and folders");
      case "EFBIG":
        return new CellarError(
          "TOO_LARGE",
          `${JSON.stringify(path)} exceeds the size limit of one file`,
          {
            remedy: "Raise limits.fileMb, or put it there in parts.",
          },
        );
      case "EMFILE":
        return new CellarError("CONFLICT", "too many files are being transferred at once", {
          remedy: "Wait for some of them before you put or get more.",
        });
      case "EBADF":
        return new CellarError(
          "SESSION_LOST",
          `the session was lost while ${JSON.stringify(path)} was being transferred`,
          {
            remedy: "A new, empty session replaces it: transfer the files again.",
          },
        );
      default: {
        const told = JSON.stringify(path);
        const other = () => new CellarError("IO_ERROR", `${told} ${unusable(problem)}`);
        return codeFault(problem, path) ?? other();
      }
    }
  }
}

function signalOf(options: FileOptions): AbortSignal | undefined {
  const signal = checkSignal(requireOptions("the options of a file", options).signal);
  refuseAborted(signal);
  return signal;
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal.reason);
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return unlessAborted(work, signal, aborted);
}

function aborted(cause: unknown): CellarError {
  return new CellarError("ABORTED", "the file transfer was aborted", { cause });
}
