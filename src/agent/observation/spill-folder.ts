import { chown, link, lstat, mkdir, open, readdir, rm, rmdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sessionDirOwner } from "../../backends/host/session-dir.js";
import { userFolders } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import { explained, writeFault } from "../../isolation/temporary-trouble.js";
import { rootOfRooms } from "../../notebook/run/temporary-dir.js";
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
/** Two processes that write at the same moment take numbers from each other. */
const ATTEMPTS = 100;

export interface Stored {
  readonly name: string;
  /** Less than the whole where the output alone was larger than all may be. */
  readonly isWhole: boolean;
  /** Older files that had to go for it. */
  readonly removed: readonly string[];
}

/** The outputs of one session, as files that are written once. */
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
      await folder.#make();
      await folder.#temps.sweep(path, await readdir(path));
    } catch (error) {
      throw unwritten(path, error);
    }
    return folder;
  }

  async #make(): Promise<void> {
    await mkdir(this.path, { mode: FOLDER_MODE }).catch((error: unknown) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
    await reclaim(this.path);
    await checkPrivate(this.path);
  }

  /** Under the number of the turn, or the next one that no file ever had. */
  async store(turn: number, text: string): Promise<Stored> {
    const bytes = Buffer.from(text);
    const isWhole = bytes.length <= this.#maxBytes;
    const temp = join(this.path, this.#temps.next());
    try {
      await write(temp, isWhole ? bytes : wholeBytes(bytes.subarray(0, this.#maxBytes)));
      const number = await this.#publish(temp, turn);
      const removed = await this.#makeRoom(number);
      return { name: nameOf(number), isWhole, removed };
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
    throw new CellarError("CONFLICT", `no number was free in ${this.path}`, {
      remedy: "use a session of its own in each process",
    });
  }

  async #numbers(): Promise<number[]> {
    const names = await readdir(this.path);
    const numbers = names.flatMap((name) => FILE.exec(name)?.[1] ?? []).map(Number);
    return numbers.sort((a, b) => a - b);
  }

  /** The oldest go first. The newest stays: its number must not be given again. */
  async #makeRoom(newest: number): Promise<string[]> {
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

  /** The files that are there, oldest first. */
  async names(): Promise<string[]> {
    return (await this.#numbers()).map(nameOf);
  }

  async #sizeOf(number: number): Promise<number> {
    const info = await lstat(join(this.path, nameOf(number))).catch(() => undefined);
    return info?.size ?? 0;
  }

  /** Removes the folder if there is nothing in it. */
  async leave(): Promise<void> {
    await rmdir(this.path).catch(() => {});
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** In the user's own folder; where nothing can be written there, in one that ends with the process. */
export function usualSpillDir(): string {
  const usual = join(userFolders().runtime, "spill");
  return writeFault(usual) === undefined ? usual : join(rootOfRooms(), "spill");
}

function unwritten(path: string, error: unknown): CellarError {
  if (isCellarError(error)) return error;
  const [reason] = explained(error, path);
  const wanted = hasCode(error, "ENOSPC", "EDQUOT") ? "with more space" : "that can be written";
  return new CellarError("IO_ERROR", `outputs could not be written to ${path}: ${reason}`, {
    remedy: `Set the option spillDir to a folder ${wanted}.`,
    details: { errno: (error as NodeJS.ErrnoException).code },
    cause: error,
  });
}

function nameOf(number: number): string {
  return `turn_${number}.txt`;
}

/** Through a link, or in a folder that others may change, they could put files under our names. */
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

/** Earlier versions gave it to the user that root's sessions run as; nobody else can reach it here. */
async function reclaim(path: string): Promise<void> {
  const [own, group] = [process.getuid?.(), process.getgid?.()];
  const info = await lstat(path);
  if (own === undefined || group === undefined || !info.isDirectory()) return;
  if (info.uid === sessionDirOwner()?.uid) await chown(path, own, group);
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, "wx", FILE_MODE);
  await file.writeFile(bytes);
  // Sessions of root run as somebody else, who must be able to read it.
  const owner = sessionDirOwner();
  if (owner !== undefined) await file.chown(owner.uid, owner.gid);
}

/** Without the beginning of a character at the end. */
function wholeBytes(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && end > bytes.length - 4 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  const lead = bytes[end - 1] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return end - 1 + length > bytes.length ? bytes.subarray(0, end - 1) : bytes;
}
