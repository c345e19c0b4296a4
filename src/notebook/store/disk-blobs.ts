import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, type FileHandle, link, lstat, open, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { CellarError } from "../../errors.js";
import { blobRefSchema } from "../cell.js";
import { diskFault, hasCode } from "./disk-faults.js";
import {
  foldersIn,
  makeFolder,
  namesIn,
  putAside,
  removeFile,
  syncFolder,
  TempNames,
} from "./disk-folders.js";
import type { BlobRef, BlobStore } from "./store.js";

/** Readable for sessions that get a link; the folders are private. */
const FILE_MODE = 0o644;
const CHUNK_BYTES = 256 * 1024;
const MAX_TRIES = 3;
const SHA256 = /^[0-9a-f]{64}$/;
const SHARD = /^[0-9a-f]{2}$/;

export interface DiskBlobsOptions {
  /** Folders below it are made where they are missing. Default: the folder itself. */
  readonly top?: string | undefined;
  readonly generation?: string | undefined;
}

/** Content as files: `<generation>/<sha256>`, and without one `<first two digits>/<sha256>`. */
export class DiskBlobs implements BlobStore {
  readonly #root: string;
  readonly #top: string;
  readonly #generation: string | undefined;
  readonly #folders = new Set<string>();
  readonly #temps = new TempNames();
  #isPrepared = false;

  constructor(root: string, { top = root, generation }: DiskBlobsOptions = {}) {
    this.#root = root;
    this.#top = top;
    this.#generation = generation;
  }

  async put(source: AsyncIterable<Uint8Array> | Uint8Array): Promise<BlobRef> {
    try {
      if (source instanceof Uint8Array) {
        const ref = this.#refOf(sha256().update(source), source.length);
        if (await this.#isKept(ref)) return ref;
      }
      return await this.#write(async (file) => {
        const hash = sha256();
        let bytes = 0;
        for await (const chunk of source instanceof Uint8Array ? [source] : source) {
          hash.update(chunk);
          bytes += chunk.length;
          await file.writeFile(chunk);
        }
        return this.#refOf(hash, bytes);
      });
    } catch (error) {
      throw diskFault(`storing content in ${this.#root}`, error);
    }
  }

  get(ref: BlobRef): Readable {
    return Readable.from(this.#read(checkRef(ref)), {
      objectMode: false,
      highWaterMark: CHUNK_BYTES,
    });
  }

  async has(ref: BlobRef): Promise<boolean> {
    try {
      const info = await lstat(this.locate(ref));
      return info.isFile() && info.size === ref.bytes;
    } catch (error) {
      if (hasCode(error, "ENOENT")) return false;
      throw diskFault(`looking for ${ref.sha256}`, error);
    }
  }

  async delete(ref: BlobRef): Promise<void> {
    try {
      await removeFile(this.locate(ref));
      await this.#dropEmpty(ref.generation);
    } catch (error) {
      throw diskFault(`deleting ${ref.sha256}`, error);
    }
  }

  async *list(wanted?: string): AsyncIterable<BlobRef> {
    await this.#temps.sweep(this.#root, await namesIn(this.#root));
    for (const folder of await foldersIn(this.#root)) {
      const generation = SHARD.test(folder) ? undefined : folder;
      if (wanted !== undefined && wanted !== (generation ?? "")) continue;
      for (const sha256 of (await namesIn(join(this.#root, folder))).sort()) {
        if (!SHA256.test(sha256)) continue;
        const info = await lstat(join(this.#root, folder, sha256)).catch(() => undefined);
        const named = generation === undefined ? {} : { generation };
        if (info?.isFile()) yield { sha256, bytes: info.size, ...named };
      }
    }
  }

  async generations(): Promise<readonly string[]> {
    const folders = await foldersIn(this.#root);
    return ["", ...folders.filter((name) => !SHARD.test(name))];
  }

  locate(ref: BlobRef): string {
    const { sha256, generation } = checkRef(ref);
    return join(this.#root, generation ?? sha256.slice(0, 2), sha256);
  }

  async adopt(ref: BlobRef, from: BlobStore): Promise<boolean> {
    if (!(from instanceof DiskBlobs) || !(await from.has(ref))) return false;
    const path = from.locate(ref);
    try {
      await this.#link(path, ref);
      return true;
    } catch (error) {
      if (hasCode(error, "ENOENT")) return false;
      if (!hasCode(error, "EXDEV", "EMLINK", "EPERM", "ENOTSUP")) {
        throw diskFault(`taking over ${path}`, error);
      }
    }
    try {
      await this.#write(async (_file, temp) => {
        await copyFile(path, temp, constants.COPYFILE_FICLONE);
        return ref;
      });
      return true;
    } catch (error) {
      throw diskFault(`copying ${path}`, error);
    }
  }

  /** Visible only when it is whole and durable. */
  async #write(fill: (file: FileHandle, path: string) => Promise<BlobRef>): Promise<BlobRef> {
    await this.#prepare();
    const temp = join(this.#root, this.#temps.next());
    try {
      await using file = await open(temp, "wx", FILE_MODE);
      const ref = await fill(file, temp);
      await file.chmod(FILE_MODE);
      await file.sync();
      await this.#link(temp, ref);
      return ref;
    } finally {
      await removeFile(temp).catch(() => {});
    }
  }

  async #link(from: string, ref: BlobRef): Promise<void> {
    const path = this.locate(ref);
    const folder = dirname(path);
    await this.#prepare();
    if (!this.#folders.has(folder)) await makeFolder(folder);
    this.#folders.add(folder);
    for (let tries = 1; ; tries += 1) {
      try {
        await link(from, path);
        break;
      } catch (error) {
        if (!hasCode(error, "EEXIST") || tries > MAX_TRIES) throw error;
        if (await this.has(ref)) break;
        await this.#putAside(ref);
      }
    }
    await syncFolder(folder);
  }

  async #isKept(ref: BlobRef): Promise<boolean> {
    if (!(await this.has(ref))) return false;
    await syncFolder(dirname(this.locate(ref)));
    return true;
  }

  #refOf(hash: Hash, bytes: number): BlobRef {
    const generation = this.#generation;
    return { sha256: hash.digest("hex"), bytes, ...(generation !== undefined && { generation }) };
  }

  async *#read(ref: BlobRef): AsyncGenerator<Buffer> {
    const path = this.locate(ref);
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = await open(path, flags).catch((error: unknown) => {
      if (hasCode(error, "ENOENT")) throw missing(ref);
      throw diskFault(`reading ${path}`, error);
    });
    try {
      yield* this.#verified(file, ref);
    } catch (error) {
      throw diskFault(`reading ${path}`, error);
    } finally {
      await file.close();
    }
  }

  /** Holds back the last chunk until the hash is verified. */
  async *#verified(file: FileHandle, ref: BlobRef): AsyncGenerator<Buffer> {
    const info = await file.stat();
    const hash = sha256();
    let last: Buffer | undefined;
    let left = info.isFile() && info.size === ref.bytes ? ref.bytes : -1;
    while (left > 0) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      if (last !== undefined) yield last;
      last = chunk.subarray(0, bytesRead);
      hash.update(last);
      left -= bytesRead;
    }
    if (left !== 0 || hash.digest("hex") !== ref.sha256) throw await this.#damage(file, ref);
    if (last !== undefined) yield last;
  }

  async #damage(file: FileHandle, ref: BlobRef): Promise<CellarError> {
    const path = this.locate(ref);
    const [mine, present] = await Promise.all([file.stat(), lstat(path).catch(() => undefined)]);
    const kept = mine.ino === present?.ino ? await this.#putAside(ref) : undefined;
    return new CellarError("DAMAGED", `the content ${ref.sha256} is damaged`, {
      remedy: `${kept === undefined ? "" : `it was kept as ${kept}; `}restore a copy from a backup, or create it again`,
      details: { ...ref, kept },
    });
  }

  #putAside(ref: BlobRef): Promise<string | undefined> {
    return putAside(this.locate(ref), this.#root, ref.sha256);
  }

  /** Removes the empty folder of another generation. */
  async #dropEmpty(generation: string | undefined): Promise<void> {
    if (generation === undefined || generation === this.#generation) return;
    await rmdir(join(this.#root, generation)).catch(() => {});
  }

  /** At the first write: creates the folder and removes leftovers of killed processes. */
  async #prepare(): Promise<void> {
    if (this.#isPrepared) return;
    await makeFolder(this.#root, this.#top);
    await this.#temps.sweep(this.#root, await namesIn(this.#root));
    this.#isPrepared = true;
  }
}

function sha256(): Hash {
  return createHash("sha256");
}

function checkRef(ref: BlobRef): BlobRef {
  const { data, error } = blobRefSchema.safeParse(ref);
  if (data !== undefined) return data;
  throw new CellarError("INVALID_INPUT", "invalid blob reference", { cause: error });
}

function missing({ sha256, bytes }: BlobRef): CellarError {
  return new CellarError("NOT_FOUND", `the content ${sha256} is not stored here`, {
    details: { sha256, bytes },
  });
}
