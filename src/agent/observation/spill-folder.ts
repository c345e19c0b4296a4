import { chown, link, lstat, mkdir, open, readdir, rmdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sessionDirOwner } from "../../backends/host/session-dir.js";
import { userFolders } from "../../config/environment.js";
import { CellarError, isCellarError } from "../../errors.js";
import { explained, writeFault } from "../../isolation/temporary-trouble.js";
import { temporaryRoot } from "../../notebook/run/temporary-dir.js";
import { hasCode } from "../../notebook/store/disk-faults.js";
import {
  FOLDER_MODE,
  makeFolder,
  removeFile,
  TempNames,
} from "../../notebook/store/disk-folders.js";
import { checkName, folderName } from "../../notebook/store/names.js";

const FILE_MODE = 0o600;
const OTHERS = 0o077;
const FILE = /^turn_(\d{1,12})\.txt$/;
/** Processes that write at the same time compete for the next number. */
const ATTEMPTS = 100;

export interface Stored {
  readonly name: string;
  /** False where the output alone exceeded the limit of the folder. */
  readonly isWhole: boolean;
  /** Older files that were deleted to make space. */
  readonly removed: readonly string[];
}

/** The spilled outputs of one session: files that are written once and never changed. */
export class SpillFolder {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #temps = new TempNames();

  private constructor(path: string, maxBytes: number) {
    this.path = path;
    this.#maxBytes = maxBytes;
  }

  static async open(dir: string, session: string, maxBytes: number): Promise<SpillFolder> {
    const parent = resolve(dir);
    const path = join(parent, folderName(checkName("session", session)));
    const folder = new SpillFolder(path, maxBytes);
    try {
      await makeFolder(parent);
      await checkPrivate(parent);
      await mkdir(path, { mode: FOLDER_MODE }).catch((error: unknown) => {
        if (!hasCode(error, "EEXIST")) throw error;
      });
      await reclaim(path);
      await checkPrivate(path);
      await folder.#temps.sweep(path, await readdir(path));
    } catch (error) {
      throw unwritten(path, error);
    }
    return folder;
  }

  /** Uses the number of the turn, or the next one that no file has had. */
  async store(turn: number, text: string): Promise<Stored> {
    const bytes = Buffer.from(text);
    const isWhole = bytes.length <= this.#maxBytes;
    const temp = join(this.path, this.#temps.next());
    try {
      await write(temp, isWhole ? text : beginning(bytes.subarray(0, this.#maxBytes)));
      const number = await this.#publish(temp, turn);
      return { name: nameOf(number), isWhole, removed: await this.#evict(number) };
    } catch (error) {
      throw unwritten(this.path, error);
    } finally {
      await removeFile(temp).catch(() => {});
    }
  }

  async #publish(temp: string, turn: number): Promise<number> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const highest = (await this.#numbers()).at(-1) ?? 0;
      const number = Math.max(turn, highest + 1);
      try {
        await link(temp, join(this.path, nameOf(number)));
        return number;
      } catch (error) {
        if (!hasCode(error, "EEXIST")) throw error;
      }
    }
    throw new CellarError("CONFLICT", `other processes keep taking the numbers in ${this.path}`, {
      remedy: "Set the option session to a different name in each process.",
    });
  }

  async #numbers(): Promise<number[]> {
    const names = await readdir(this.path);
    const numbers = names.flatMap((name) => FILE.exec(name)?.[1] ?? []).map(Number);
    return numbers.sort((a, b) => a - b);
  }

  /** Deletes the oldest files first, and never the newest: its number must not be used again. */
  async #evict(newest: number): Promise<string[]> {
    const numbers = await this.#numbers();
    const sizes = await Promise.all(numbers.map((number) => this.#sizeOf(number)));
    let total = sizes.reduce((sum, size) => sum + size, 0);
    const removed: string[] = [];
    for (const [index, number] of numbers.entries()) {
      if (total <= this.#maxBytes || number >= newest) break;
      await removeFile(join(this.path, nameOf(number)));
      total -= sizes[index] ?? 0;
      removed.push(nameOf(number));
    }
    return removed;
  }

  /** Oldest first. */
  async names(): Promise<string[]> {
    return (await this.#numbers()).map(nameOf);
  }

  async #sizeOf(number: number): Promise<number> {
    const info = await lstat(join(this.path, nameOf(number))).catch(() => undefined);
    return info?.size ?? 0;
  }

  async removeIfEmpty(): Promise<void> {
    await rmdir(this.path).catch(() => {});
  }
}

/** In the user's folder; where that is not writable, in a folder that ends with the process. */
export function defaultSpillDir(): string {
  const usual = join(userFolders().runtime, "spill");
  return writeFault(usual) === undefined ? usual : join(temporaryRoot(), "spill");
}

function unwritten(path: string, error: unknown): CellarError {
  if (isCellarError(error)) return error;
  const [reason] = explained(error, path);
  const wanted = hasCode(error, "ENOSPC", "EDQUOT") ? "with more space" : "that is writable";
  return new CellarError("IO_ERROR", `could not write outputs to ${path}: ${reason}`, {
    remedy: `Set the option spillDir to a folder ${wanted}.`,
    details: { errno: (error as NodeJS.ErrnoException).code },
    cause: error,
  });
}

function nameOf(number: number): string {
  return `turn_${number}.txt`;
}

/** Through a link, or in a folder that others can write to, they could plant files. */
async function checkPrivate(dir: string): Promise<void> {
  const own = process.getuid?.();
  const info = await lstat(dir);
  const remedy = "Set spillDir to a folder of your own.";
  if (!info.isDirectory()) {
    const what = info.isSymbolicLink() ? "a symbolic link" : "not a folder";
    throw new CellarError("IO_ERROR", `${dir} is ${what}`, { remedy });
  }
  if (own === undefined) return;
  if (info.uid !== own) {
    throw new CellarError("INVALID_CONFIG", `${dir} belongs to uid ${info.uid}, not to you`, {
      remedy,
    });
  }
  if ((info.mode & OTHERS) !== 0) {
    const message = `${dir} is open to other users`;
    throw new CellarError("INVALID_CONFIG", message, { remedy: `Run chmod 700 ${dir}` });
  }
}

/** Earlier versions gave the folder to the user that root's sessions run as. */
async function reclaim(path: string): Promise<void> {
  const [own, group] = [process.getuid?.(), process.getgid?.()];
  const info = await lstat(path);
  if (own === undefined || group === undefined || !info.isDirectory()) return;
  if (info.uid === sessionDirOwner()?.uid) await chown(path, own, group);
}

async function write(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", FILE_MODE);
  await file.writeFile(text);
  // Root's sessions run as another user, who must be able to read the file.
  const owner = sessionDirOwner();
  if (owner !== undefined) await file.chown(owner.uid, owner.gid);
}

/** Drops a character that is cut off at the end. */
function beginning(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}
