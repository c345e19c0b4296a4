import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CellarError, describeError } from "../../errors.js";
import { type Distribution, isWeb, LOCK_FILE } from "./distribution.js";
import { fetchBytes, isStored, shareStored, storeFile } from "./download.js";
import { closure, fileOf, type LockedPackage, lockOf } from "./lock.js";

/** Collects and verifies the packages' files in a cache folder; null if there are none. */
export async function gatherWheels(
  distribution: Distribution,
  packages: readonly string[],
  cache: string,
): Promise<string | null> {
  if (packages.length === 0) return null;
  const entries = closure(distribution.lock, packages);
  const lock = lockOf(distribution.lock, entries);
  const name = createHash("sha256").update(lock).digest("hex").slice(0, 32);
  const folder = join(cache, "wheels", name);
  for (const entry of entries) await provide(entry, folder, distribution.sources);
  const path = join(folder, LOCK_FILE);
  if (!isStored(path) || readFileSync(path, "utf8") !== lock) {
    storeFile(folder, LOCK_FILE, Buffer.from(lock));
  }
  shareStored(folder, [LOCK_FILE, ...entries.map(fileOf)]);
  return folder;
}

/** What is there already is checked all the same: the sandbox will run it. */
async function provide(
  entry: LockedPackage,
  folder: string,
  sources: readonly string[],
): Promise<void> {
  const file = fileOf(entry);
  const path = join(folder, file);
  if (isStored(path) && fits(readFileSync(path), entry)) return;
  const failures: string[] = [];
  for (const source of isWeb(entry.file_name) ? [entry.file_name] : sources) {
    try {
      const content = await read(source, entry, file);
      if (!fits(content, entry))
        throw new Error(`${file} does not match the sha256 in its lock file`);
      storeFile(folder, file, content);
      return;
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  throw new CellarError(
    "INSTALL_FAILED",
    `the Pyodide package ${entry.name} could not be downloaded: ${failures.join("; ")}`,
    { remedy: "Set indexURL to a folder or a server that has it." },
  );
}

function read(source: string, entry: LockedPackage, file: string): Promise<Buffer> | Buffer {
  if (source === entry.file_name) return fetchBytes(source);
  return isWeb(source) ? fetchBytes(source + entry.file_name) : readFileSync(join(source, file));
}

function fits(content: Buffer, { sha256 }: LockedPackage): boolean {
  return createHash("sha256").update(content).digest("hex") === sha256;
}
