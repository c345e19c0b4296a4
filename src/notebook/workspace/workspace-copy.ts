import { type BigIntStats, constants, linkSync, readlinkSync, symlinkSync } from "node:fs";
import { copyFile, type FileHandle, lchown, lutimes, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { MAX_DEPTH, type RawName, shownPath } from "../../backends/files/file-path.js";
import { CellarError, isCellarError } from "../../errors.js";
import { codeOf, type DirHandle, descend, isMissing, type Owner } from "./dir-handle.js";

export interface CopyReport {
  readonly files: number;
  readonly bytes: number;
  /** Special files, and files that were gone or locked. */
  readonly skipped: readonly string[];
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, COPYFILE_FICLONE } = constants;
const MAX_SKIPPED = 100;

export interface WorkspaceCopyOptions {
  readonly owner: Owner | undefined;
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly isDurable?: boolean | undefined;
}

/** Copies a workspace into an empty one without following links. */
export class WorkspaceCopy {
  readonly #target: DirHandle;
  readonly #options: WorkspaceCopyOptions;
  /** Where a file with several names was copied to. */
  readonly #shared = new Map<bigint, readonly RawName[]>();
  readonly #skipped: string[] = [];
  #bytes = 0;
  #files = 0;

  constructor(target: DirHandle, options: WorkspaceCopyOptions) {
    this.#target = target;
    this.#options = options;
  }

  async copy(source: DirHandle): Promise<CopyReport> {
    await this.#copyFolder(source, this.#target, []);
    return { files: this.#files, bytes: this.#bytes, skipped: this.#skipped };
  }

  async #copyFolder(from: DirHandle, to: DirHandle, place: readonly RawName[]): Promise<void> {
    for (const name of from.names()) {
      const stats = from.stat(name);
      const path = [...place, name];
      this.#admit();
      try {
        if (stats?.isDirectory()) await this.#copyBelow(from, to, stats, path);
        else if (stats?.isSymbolicLink()) await this.#copyLink(from, to, stats, name);
        else if (stats?.isFile()) await this.#copyFile(from, to, stats, path);
        else this.#skip(path);
      } catch (error) {
        if (!canSkip(error)) throw error;
        this.#skip(path);
      }
    }
    if (this.#options.isDurable) await to.settle();
  }

  async #copyBelow(
    from: DirHandle,
    to: DirHandle,
    stats: BigIntStats,
    path: readonly RawName[],
  ): Promise<void> {
    const name = path.at(-1) ?? "";
    if (path.length >= MAX_DEPTH) throw tooLarge("it has folders nested too deeply");
    using inner = from.child(name);
    using made = to.make(name, this.#options.owner);
    await this.#copyFolder(inner, made, path);
    made.setAttributes(Number(stats.mode), seconds(stats.atimeNs), seconds(stats.mtimeNs));
  }

  async #copyLink(
    from: DirHandle,
    to: DirHandle,
    stats: BigIntStats,
    name: RawName,
  ): Promise<void> {
    const target = readlinkSync(from.at(name), "buffer");
    const path = to.at(name);
    symlinkSync(target, path);
    if (this.#options.owner !== undefined)
      await lchown(path, this.#options.owner.uid, this.#options.owner.gid);
    await lutimes(path, seconds(stats.atimeNs), seconds(stats.mtimeNs));
  }

  async #copyFile(
    from: DirHandle,
    to: DirHandle,
    stats: BigIntStats,
    path: readonly RawName[],
  ): Promise<void> {
    const name = path.at(-1) ?? "";
    const earlier = stats.nlink > 1n ? this.#shared.get(stats.ino) : undefined;
    if (earlier !== undefined) {
      using folder = descend(this.#target, earlier.slice(0, -1));
      return linkSync(folder.at(earlier.at(-1) ?? ""), to.at(name));
    }
    await using source = await from.file(name);
    const { size, mode, atimeMs, mtimeMs } = await source.stat();
    // A copy may fill the holes of a sparse file, so its full size must fit.
    this.#bytes += size;
    if (this.#bytes > this.#options.maxBytes)
      throw tooLarge("its files do not fit, counting the holes of sparse files");
    await using copy = await open(to.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await copyBytes(source, copy);
    if (this.#options.owner !== undefined)
      await copy.chown(this.#options.owner.uid, this.#options.owner.gid);
    await copy.chmod(mode & 0o777);
    await copy.utimes(atimeMs / 1000, mtimeMs / 1000);
    if (this.#options.isDurable) await copy.sync();
    if (stats.nlink > 1n) this.#shared.set(stats.ino, path);
  }

  #admit(): void {
    this.#files += 1;
    if (this.#files > this.#options.maxFiles) throw tooLarge("it has too many files");
  }

  #skip(path: readonly RawName[]): void {
    this.#files -= 1;
    if (this.#skipped.length < MAX_SKIPPED) this.#skipped.push(shownPath(path.join("/")));
  }
}

/** Shares blocks where the file system can. */
async function copyBytes(source: FileHandle, copy: FileHandle): Promise<void> {
  if (process.platform === "linux") {
    const [from, to] = [source, copy].map(({ fd }) => `/proc/self/fd/${fd}`) as [string, string];
    return copyFile(from, to, COPYFILE_FICLONE);
  }
  await pipeline(
    source.createReadStream({ autoClose: false }),
    copy.createWriteStream({ autoClose: false }),
  );
}

function canSkip(error: unknown): boolean {
  return isMissing(error) || codeOf(error) === "EAGAIN" || isCellarError(error, "INVALID_INPUT");
}

function seconds(nanoseconds: bigint): number {
  return Number(nanoseconds) / 1e9;
}

function tooLarge(reason: string): CellarError {
  return new CellarError("TOO_LARGE", `the workspace cannot be copied: ${reason}`, {
    remedy: "Delete files you no longer need, then try again.",
  });
}
