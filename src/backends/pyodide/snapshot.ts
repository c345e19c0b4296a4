import { createHash, randomBytes } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pythonFilesIn } from "./inside/python-files.js";

const MAGIC = Buffer.from("cellar-memory-3\n");
const HASH_BYTES = 32;
export const HEADER_BYTES = MAGIC.length + HASH_BYTES;
/** A snapshot is some dozens of megabytes; so many versions are kept beside the present one. */
const KEPT_VERSIONS = 2;
const FILE = /^memory-[0-9a-f]{32}\.bin$/;

export interface StoredMemory {
  readonly file: string;
  readonly offset: number;
}

/** Python's memory just before user code, kept on disk so that the next start need not build it. */
export class SnapshotStore {
  readonly #folder: string;
  readonly #path: string;
  #known: { readonly stamp: string; readonly isWhole: boolean } | undefined;

  /** A change of any of the `parts` makes another snapshot necessary. */
  constructor(folder: string, parts: readonly string[]) {
    const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
    this.#folder = folder;
    this.#path = join(folder, `memory-${key}.bin`);
  }

  /** The snapshot, if it is complete and this user's; otherwise the reason. */
  async find(): Promise<StoredMemory | { readonly reason: string }> {
    const stats = statSync(this.#path, { throwIfNoEntry: false });
    if (stats === undefined) return { reason: "there was no snapshot of Python's memory yet" };
    const owner = process.getuid?.();
    if (owner !== undefined && (stats.uid !== owner || (stats.mode & 0o077) !== 0)) {
      return { reason: "the snapshot of Python's memory may have been written by others" };
    }
    const stamp = `${stats.ino}/${stats.size}/${stats.mtimeMs}`;
    if (this.#known?.stamp !== stamp) {
      this.#known = { stamp, isWhole: isWhole(await readFile(this.#path)) };
    }
    if (this.#known.isWhole) return { file: this.#path, offset: HEADER_BYTES };
    return { reason: "the snapshot of Python's memory was damaged" };
  }

  /** Atomic: readers see the old file or the new one. */
  save(memory: Uint8Array): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const draft = `${this.#path}.${process.pid}-${randomBytes(6).toString("hex")}`;
    try {
      writeFileSync(draft, Buffer.concat([MAGIC, digest(memory), memory]), {
        mode: 0o600,
        flag: "wx",
      });
      renameSync(draft, this.#path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
    this.#dropOld();
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }

  /** Other versions of Node and of Cellar have their own; those used longest ago go. */
  #dropOld(): void {
    const others = readdirSync(this.#folder)
      .filter((name) => FILE.test(name) && join(this.#folder, name) !== this.#path)
      .map((name) => join(this.#folder, name))
      .map((path) => ({ path, stats: statSync(path, { throwIfNoEntry: false }) }))
      .sort((a, b) => (b.stats?.mtimeMs ?? 0) - (a.stats?.mtimeMs ?? 0));
    for (const { path } of others.slice(KEPT_VERSIONS)) rmSync(path, { force: true });
  }
}

/** A digest of all the Python files of the runner. */
export function contentOf(folder: string): string {
  const hash = createHash("sha256");
  for (const path of pythonFilesIn(folder)) {
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(folder, path)));
  }
  return hash.digest("hex");
}

function isWhole(content: Buffer): boolean {
  const body = content.subarray(HEADER_BYTES);
  return (
    content.subarray(0, MAGIC.length).equals(MAGIC) &&
    content.subarray(MAGIC.length, HEADER_BYTES).equals(digest(body))
  );
}

function digest(memory: Uint8Array): Buffer {
  return createHash("sha256").update(memory).digest();
}
