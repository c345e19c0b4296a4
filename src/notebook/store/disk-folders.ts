import { randomBytes } from "node:crypto";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  stat,
  unlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { currentProcess, labelOf, livenessOfLabel } from "../../backends/host/process-identity.js";
import { diskFault, hasCode } from "./disk-faults.js";

export const FOLDER_MODE = 0o700;

export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw diskFault(`listing ${folder}`, error);
  }
}

export async function foldersIn(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw diskFault(`listing ${path}`, error);
  }
}

/** Creates a path; from `top` on it is durable. */
export async function makeFolder(path: string, top = path): Promise<void> {
  const first = (await makeMissing(path)) ?? path;
  const highest = first.length < top.length ? first : top;
  for (let made = path; made.length >= highest.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

/**
 * Gives the highest folder that was made; undefined where all were there. Node's own way of making
 * a whole path tries forever in a file system that cannot hold folders, such as /proc.
 */
async function makeMissing(path: string): Promise<string | undefined> {
  const parent = dirname(path);
  const first = parent === path || (await isThere(parent)) ? undefined : await makeMissing(parent);
  try {
    await mkdir(path, { mode: FOLDER_MODE });
    return first ?? path;
  } catch (error) {
    if (hasCode(error, "EEXIST") && (await stat(path)).isDirectory()) return first;
    throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    return !hasCode(error, "ENOENT");
  }
}

export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

/** Identifies a file across links and renames. */
export interface FileIdentity {
  readonly ino: bigint;
  readonly mtimeNs: bigint;
}

export async function identityOf(file: FileHandle): Promise<FileIdentity> {
  const { ino, mtimeNs } = await file.stat({ bigint: true });
  return { ino, mtimeNs };
}

/** A file this old is not being written any more. */
const LONG_AGO_MS = 24 * 60 * 60 * 1000;

const TEMP = /^temp-(\d+-\d*-[0-9a-f]{12})-/;

/** Temporary file names that contain their process, so that leftovers of dead ones are found. */
export class TempNames {
  readonly #prefix: string;
  #count = 0;

  constructor() {
    const once = randomBytes(4).toString("hex");
    this.#prefix = `temp-${labelOf(currentProcess())}-${once}`;
  }

  next(): string {
    this.#count += 1;
    return `${this.#prefix}-${this.#count}`;
  }

  async sweep(folder: string, names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(folder, name);
      if (TEMP.test(name) && (await this.#isLeft(path, name))) await unlink(path).catch(() => {});
    }
  }

  async #isLeft(path: string, name: string): Promise<boolean> {
    const liveness = livenessOfLabel(TEMP.exec(name)?.[1] ?? "");
    if (liveness !== "unknown") return liveness === "dead";
    const info = await lstat(path).catch(() => undefined);
    return info !== undefined && Date.now() - info.mtimeMs > LONG_AGO_MS;
  }
}

export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

/** Keeps a damaged file under a name of its own in a folder; gives the new path, if it was there. */
export async function putAside(
  path: string,
  folder: string,
  what: string,
): Promise<string | undefined> {
  const time = new Date().toISOString().replace(/[^0-9TZ]/g, "");
  const kept = join(folder, `damaged-${what}-${time}-${randomBytes(4).toString("hex")}`);
  try {
    await rename(path, kept);
    await syncFolder(folder);
    return kept;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
