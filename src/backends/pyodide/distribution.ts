import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CellarError, describeError } from "../../errors.js";
import { fetchBytes, isStored, shareStored, storeFile } from "./download.js";
import { type Lock, parseLock } from "./lock.js";

/** All that Pyodide itself is made of. */
const CORE_FILES = [
  "pyodide.mjs",
  "pyodide.asm.mjs",
  "pyodide.asm.wasm",
  "python_stdlib.zip",
] as const;
export const LOCK_FILE = "pyodide-lock.json";

export interface Distribution {
  /** A hash of its content. */
  readonly key: string;
  /** The folder of pyodide.mjs and its parts. */
  readonly folder: string;
  readonly lock: Lock;
  /** Folders and URLs in which its packages are looked for, in order. */
  readonly sources: readonly string[];
  /** Whether its code came over a network. */
  readonly isRemote: boolean;
}

/** The Pyodide that was installed with this package; its own packages come from its publisher. */
export function packagedDistribution(): Distribution {
  const folder = dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    version: string;
  };
  return {
    key: version,
    folder,
    lock: lockIn(folder),
    sources: [folder, `https://cdn.jsdelivr.net/pyodide/v${version}/full/`],
    isRemote: false,
  };
}

/** What `indexURL` names: of several, the first that can be used. */
export async function findDistribution(
  indexURL: string | readonly string[] | undefined,
  cache: string,
): Promise<Distribution> {
  if (indexURL === undefined) return packagedDistribution();
  const places = typeof indexURL === "string" ? [indexURL] : indexURL;
  const failures: string[] = [];
  for (const place of places) {
    try {
      return isWeb(place)
        ? await remoteDistribution(place, cache)
        : localDistribution(place, cache);
    } catch (error) {
      failures.push(`${place}: ${describeError(error)}`);
    }
  }
  throw new CellarError("INSTALL_FAILED", `no indexURL can be used: ${failures.join("; ")}`, {
    remedy: "Leave indexURL out to use the Pyodide that is installed with this package.",
    details: { failures },
  });
}

export function isWeb(place: string): boolean {
  return /^https?:\/\//i.test(place);
}

/** A folder with Pyodide in it, or with packages only: then the installed Pyodide uses them. */
function localDistribution(place: string, cache: string): Distribution {
  const folder = place.startsWith("file:") ? fileURLToPath(place) : resolve(place);
  const lock = lockIn(folder);
  const hasCore = CORE_FILES.every((name) => existsSync(join(folder, name)));
  const core = hasCore ? readableCopy(folder, cache) : packagedDistribution().folder;
  return { key: keyOf(core), folder: core, lock, sources: [folder], isRemote: false };
}

/** Root's sessions are not root: of a folder that is root's alone they get a copy. */
function readableCopy(folder: string, cache: string): string {
  const isPrivate = (path: string, bits: number) => (statSync(path).mode & bits) !== bits;
  const isHidden =
    process.getuid?.() === 0 &&
    (isPrivate(folder, 0o005) || CORE_FILES.some((name) => isPrivate(join(folder, name), 0o004)));
  if (!isHidden) return folder;
  const key = keyOf(folder);
  const copy = join(cache, "distributions", key.slice(0, 32));
  const isThere = CORE_FILES.every((name) => isStored(join(copy, name))) && keyOf(copy) === key;
  for (const name of isThere ? [LOCK_FILE] : [...CORE_FILES, LOCK_FILE]) {
    storeFile(copy, name, readFileSync(join(folder, name)));
  }
  shareStored(copy, CORE_FILES);
  return copy;
}

async function remoteDistribution(place: string, cache: string): Promise<Distribution> {
  const base = place.endsWith("/") ? place : `${place}/`;
  const lock = parseLock((await fetchBytes(base + LOCK_FILE)).toString("utf8"));
  const name = createHash("sha256").update(base).digest("hex").slice(0, 32);
  const folder = join(cache, "distributions", name);
  try {
    for (const file of CORE_FILES) {
      if (!isStored(join(folder, file))) storeFile(folder, file, await fetchBytes(base + file));
    }
    storeFile(folder, LOCK_FILE, Buffer.from(lock.text));
    shareStored(folder, CORE_FILES);
  } catch (error) {
    const packaged = packagedDistribution();
    if (packaged.lock.info.abi_version !== lock.info.abi_version) throw error;
    // A place that has packages only, for the Pyodide that is installed.
    return { ...packaged, lock, sources: [base] };
  }
  return { key: keyOf(folder), folder, lock, sources: [base], isRemote: true };
}

function lockIn(folder: string): Lock {
  return parseLock(readFileSync(join(folder, LOCK_FILE), "utf8"));
}

function keyOf(folder: string): string {
  const hash = createHash("sha256");
  for (const name of CORE_FILES) hash.update(readFileSync(join(folder, name)));
  return hash.digest("hex");
}
