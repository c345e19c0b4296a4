import { copyFileSync, type Dirent, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const MAX_FILES = 500;
const MAX_FILE_BYTES = 32 * 1024 * 1024;
const MAX_ALL_BYTES = 96 * 1024 * 1024;
const MAX_DEPTH = 4;
const SKIPPED = /^(?:\.|node_modules$|__pycache__$)/;

/** The files around a notebook: modules and data that its cells use. */
export interface Surroundings {
  /** By their paths from the folder of the notebook. */
  readonly files: readonly string[];
  readonly folder: string;
  /** How many did not fit. */
  readonly left: number;
}

export function surroundingsOf(file: string): Surroundings {
  const folder = dirname(file);
  const files: string[] = [];
  let bytes = 0;
  let left = 0;
  // What lies nearest comes first: a bound is to cost the far ones.
  let level: string[] = [""];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const place of level) {
      for (const entry of entriesOf(join(folder, place))) {
        const path = join(place, entry.name);
        if (SKIPPED.test(entry.name)) continue;
        if (entry.isDirectory()) next.push(path);
        if (!entry.isFile()) continue;
        const { size = Infinity } = statSync(join(folder, path), { throwIfNoEntry: false }) ?? {};
        const fits = files.length < MAX_FILES && size <= MAX_FILE_BYTES;
        if (fits && bytes + size <= MAX_ALL_BYTES) {
          files.push(path);
          bytes += size;
        } else left++;
      }
    }
    level = next.sort();
  }
  return { files: files.sort(), folder, left };
}

/** None where it cannot be read, or is gone. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

export function copySurroundings({ files, folder }: Surroundings, to: string): void {
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    copyFileSync(join(folder, file), join(to, file));
  }
}
