import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FileContent, piecesOf } from "../../backends/files/file-content.js";
import type { RawName } from "../../backends/files/file-path.js";
import { type WorkspaceLimit, workspaceFull } from "../../backends/files/workspace-file.js";
import { CellarError } from "../../errors.js";
import { codeOf, type DirHandle, descend, type Owner } from "./dir-handle.js";
import type { Usage } from "./scan.js";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const PREFIX = ".incoming-";
/** Milliseconds without a write after which an upload counts as abandoned. */
const STALE = 3_600_000;

/**
 * Brings files into a workspace. They are written beside it, where the session does not see them,
 * and move in when they are whole.
 */
export class Upload {
  readonly #sessionDir: string;
  readonly #owner: Owner | undefined;
  readonly #limit: WorkspaceLimit;
  #isSwept = false;
  #incoming = 0;
  /** Counts finished uploads, to notice an outdated measurement. */
  #arrivals = 0;
  #lastPlacing: Promise<unknown> = Promise.resolve();

  constructor(workspace: string, owner: Owner | undefined, limit: WorkspaceLimit) {
    this.#sessionDir = dirname(workspace);
    this.#owner = owner;
    this.#limit = limit;
  }

  async put(
    root: DirHandle,
    names: readonly RawName[],
    content: FileContent,
    usage: () => Promise<Usage>,
  ): Promise<void> {
    await this.#sweep();
    const arrivals = this.#arrivals;
    const free = this.#freeFor(root, names, await usage());
    const temporary = join(this.#sessionDir, `${PREFIX}${randomBytes(8).toString("hex")}`);
    try {
      const written = await this.#write(temporary, content, free);
      await this.#inTurn(async () => {
        const isCurrent = this.#arrivals === arrivals;
        if (!isCurrent && written > this.#freeFor(root, names, await usage()))
          throw this.#tooLarge("bytes");
        this.#arrivals += 1;
        await this.#place(root, names, temporary);
      });
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** One at a time, so that two files cannot overfill the workspace together. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#lastPlacing.then(work);
    this.#lastPlacing = turn.catch(() => {});
    return turn;
  }

  #freeFor(root: DirHandle, names: readonly RawName[], held: Usage): number {
    if (!held.isWhole || held.files + names.length > this.#limit.files)
      throw this.#tooLarge("files and folders");
    return this.#limit.bytes - held.bytes + replacedBytes(root, names);
  }

  async #write(path: string, content: FileContent, free: number): Promise<number> {
    await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    let written = 0;
    try {
      for await (const piece of piecesOf(content)) {
        written += piece.byteLength;
        this.#incoming += piece.byteLength;
        if (this.#incoming > free) throw this.#tooLarge("bytes");
        await writeWhole(file, piece);
      }
    } finally {
      this.#incoming -= written;
    }
    await file.chmod(0o644);
    if (this.#owner !== undefined) await file.chown(this.#owner.uid, this.#owner.gid);
    await file.sync();
    return written;
  }

  async #place(root: DirHandle, names: readonly RawName[], temporary: string): Promise<void> {
    const above: DirHandle[] = [];
    try {
      using folder = descend(root, names.slice(0, -1), (parent, name) => {
        if (parent.stat(name) === undefined) above.push(parent.child("."));
        return parent.make(name, this.#owner);
      });
      await rename(temporary, folder.at(names.at(-1) ?? "")).catch(replaced);
      for (const changed of [folder, ...above]) await changed.settle();
    } finally {
      for (const folder of above) folder[Symbol.dispose]();
    }
  }

  /** Removes, once, what a killed host left behind. */
  async #sweep(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    for (const name of await readdir(this.#sessionDir)) {
      const path = join(this.#sessionDir, name);
      if (!name.startsWith(PREFIX)) continue;
      if (Date.now() - (await lstat(path)).mtimeMs > STALE) await rm(path, { force: true });
    }
  }

  #tooLarge(what: "bytes" | "files and folders"): CellarError {
    return workspaceFull(what === "bytes" ? this.#limit.bytes : this.#limit.files, what);
  }
}

function replaced(error: unknown): never {
  if (codeOf(error) !== "ENOENT") throw error;
  throw new CellarError("CONFLICT", "its folder was removed while the file was written", {
    remedy: "Write it again.",
    cause: error,
  });
}

function replacedBytes(root: DirHandle, names: readonly RawName[]): number {
  try {
    using folder = descend(root, names.slice(0, -1));
    const stats = folder.stat(names.at(-1) ?? "");
    return stats?.isFile() === true && stats.nlink === 1n ? Number(stats.blocks) * 512 : 0;
  } catch {
    return 0;
  }
}

async function writeWhole(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let offset = 0; offset < piece.byteLength; ) {
    offset += (await file.write(piece, offset)).bytesWritten;
  }
}
