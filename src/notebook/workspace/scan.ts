import type { BigIntStats } from "node:fs";
import {
  LONGEST_NAME,
  LONGEST_PATH,
  MAX_DEPTH,
  type RawName,
  shownPath,
} from "../../backends/files/file-path.js";
import type { FileChanges } from "../cell.js";
import { type DirHandle, isMissing } from "./dir-handle.js";
import { Yielding } from "./yielding.js";

export const MAX_ENTRIES = 40_000;
const MAX_CHANGES = 1_000;
const BLOCK_BYTES = 512n;

export interface Usage {
  /**
   * Space that is taken on the disk. A sparse file counts with what it fills, as only that can run
   * out; a file with several names counts once.
   */
  readonly bytes: number;
  readonly files: number;
  readonly isWhole: boolean;
}

export interface Found {
  readonly path: RawName;
  readonly stats: BigIntStats;
}

/** Any write changes one of these. */
interface Mark {
  readonly inode: bigint;
  readonly size: bigint;
  readonly modified: bigint;
  readonly changed: bigint;
}

export interface Scan {
  readonly marks: ReadonlyMap<RawName, Mark>;
  readonly usage: Usage;
}

interface Level {
  readonly folder: DirHandle;
  readonly names: Generator<RawName>;
  readonly prefix: RawName;
}

/** Visits each entry below a folder that may change meanwhile; returns the totals. */
export async function walk(
  root: DirHandle,
  visit: (found: Found) => void,
  signal?: AbortSignal,
): Promise<Usage> {
  const pace = new Yielding(signal);
  const tally = new Tally();
  const levels: Level[] = [{ folder: root, names: root.names(), prefix: "" }];
  let seen = 0;
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const { value: name, done } = level.names.next();
      if (done === true) {
        leave(levels);
        continue;
      }
      seen += 1;
      if (seen > MAX_ENTRIES) return tally.usage(false);
      if (pace.isDue) await pace.rest();
      const stats = level.folder.stat(name);
      if (stats === undefined) continue;
      const path = level.prefix + name;
      tally.add(stats);
      visit({ path, stats });
      if (stats.isDirectory() && !enter(levels, level, name)) tally.isWhole = false;
    }
    return tally.usage();
  } finally {
    while (levels.length > 0) leave(levels);
  }
}

/** False where it goes deeper than can be followed, or than a path can name. */
function enter(levels: Level[], { folder, prefix }: Level, name: RawName): boolean {
  const longest = prefix.length + name.length + 1 + LONGEST_NAME;
  if (levels.length >= MAX_DEPTH || longest > LONGEST_PATH) return false;
  try {
    const child = folder.child(name);
    levels.push({ folder: child, names: child.names(), prefix: `${prefix}${name}/` });
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return true;
}

/** The root stays open: it is the caller's. */
function leave(levels: Level[]): void {
  const left = levels.pop();
  left?.names.return(undefined);
  if (levels.length > 0) left?.folder[Symbol.dispose]();
}

class Tally {
  readonly #shared = new Set<bigint>();
  #bytes = 0n;
  files = 0;
  isWhole = true;

  add({ ino, nlink, blocks }: BigIntStats): void {
    this.files += 1;
    if (nlink > 1n) {
      if (this.#shared.has(ino)) return;
      this.#shared.add(ino);
    }
    this.#bytes += blocks * BLOCK_BYTES;
  }

  usage(isWhole = this.isWhole): Usage {
    return { bytes: Number(this.#bytes), files: this.files, isWhole };
  }
}

export async function takeScan(root: DirHandle, signal?: AbortSignal): Promise<Scan> {
  const marks = new Map<RawName, Mark>();
  const visit = ({ path, stats }: Found) => {
    if (!stats.isDirectory()) marks.set(path, markOf(stats));
  };
  return { usage: await walk(root, visit, signal), marks };
}

function markOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): Mark {
  return { inode: ino, size, modified: mtimeNs, changed: ctimeNs };
}

/** Files only; where not all could be seen, `omitted` is a minimum. */
export function changesBetween(before: Scan, after: Scan): FileChanges {
  const created: RawName[] = [];
  const changed: RawName[] = [];
  for (const [path, mark] of after.marks) {
    const old = before.marks.get(path);
    if (old === undefined) created.push(path);
    else if (!isSame(old, mark)) changed.push(path);
  }
  const isWhole = before.usage.isWhole && after.usage.isWhole;
  const gone = isWhole ? [...before.marks.keys()].filter((path) => !after.marks.has(path)) : [];
  const total = created.length + changed.length + gone.length;
  let left = MAX_CHANGES;
  const listed = (paths: RawName[]) => {
    const shown = paths.sort().slice(0, left);
    left -= shown.length;
    return shown.map(shownPath);
  };
  const lists = { created: listed(created), changed: listed(changed), deleted: listed(gone) };
  const omitted = Math.max(total - MAX_CHANGES, isWhole ? 0 : 1);
  return omitted > 0 ? { ...lists, omitted } : lists;
}

function isSame(one: Mark, other: Mark): boolean {
  return (
    one.inode === other.inode &&
    one.size === other.size &&
    one.modified === other.modified &&
    one.changed === other.changed
  );
}
