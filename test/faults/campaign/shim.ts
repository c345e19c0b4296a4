import { spawnSync } from "node:child_process";
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Chance } from "./chance.js";

const CALLS = {
  write: 1,
  fsync: 2,
  rename: 4,
  link: 8,
  unlink: 16,
  open: 32,
  read: 64,
  mkdir: 128,
} as const;
const PAGE_BYTES = 4096;
const WORD_BYTES = 4;
const STRIKES_AT = 4 * WORD_BYTES;

export interface DiskFault {
  readonly calls: readonly (keyof typeof CALLS)[];
  readonly error: "EIO" | "ENOSPC" | "EROFS" | "EMFILE";
  readonly permille: number;
  readonly slowUs: number;
  readonly seed: number;
}

/** The library that makes disks fail; a text says why there is none. */
export function compileShim(source: string, folder: string): { file: string } | { why: string } {
  const file = join(folder, "shim.so");
  const args = ["-shared", "-fPIC", "-O1", "-o", file, source, "-ldl"];
  const made = spawnSync("gcc", args, { encoding: "utf8" });
  if (made.error !== undefined) return { why: `gcc was not found: ${made.error.message}` };
  return made.status === 0 ? { file } : { why: `gcc failed: ${made.stderr.slice(0, 500)}` };
}

export function planDiskFault(chance: Chance): DiskFault {
  const names = Object.keys(CALLS) as (keyof typeof CALLS)[];
  const calls =
    chance.below(3) === 0 ? [chance.one(names), chance.one(names)] : [chance.one(names)];
  return {
    calls,
    error: chance.one(["EIO", "ENOSPC", "EROFS", "EMFILE"] as const),
    permille: chance.one([80, 300, 1000]),
    slowUs: 0,
    seed: chance.below(1_000_000),
  };
}

export function planStall(chance: Chance): DiskFault {
  const slowUs = chance.one([20_000, 80_000, 200_000]);
  return { calls: [], error: "EIO", permille: 0, slowUs, seed: 0 };
}

/** The switch of one host's shim. */
export class ShimControl {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, "shim-control");
    writeFileSync(this.#file, Buffer.alloc(PAGE_BYTES));
  }

  environment(library: string, folder: string): Record<string, string> {
    const control = { CELLAR_SHIM_CONTROL: this.#file, CELLAR_SHIM_FOLDER: folder };
    return { LD_PRELOAD: library, ...control };
  }

  begin({ calls, error, permille, slowUs, seed }: DiskFault): void {
    const mask = calls.reduce((sum, name) => sum | CALLS[name], 0);
    const words = [mask, permille, constants.errno[error], seed];
    this.#write(Uint32Array.from(words), 0);
    this.#write(Uint32Array.of(slowUs), STRIKES_AT + WORD_BYTES);
  }

  end(): void {
    this.#write(Uint32Array.of(0), 0);
    this.#write(Uint32Array.of(0), STRIKES_AT + WORD_BYTES);
  }

  get strikes(): number {
    const page = Buffer.alloc(WORD_BYTES);
    const descriptor = openSync(this.#file, "r");
    readSync(descriptor, page, 0, WORD_BYTES, STRIKES_AT);
    closeSync(descriptor);
    return page.readUInt32LE();
  }

  #write(words: Uint32Array, at: number): void {
    const descriptor = openSync(this.#file, "r+");
    writeSync(descriptor, new Uint8Array(words.buffer), 0, words.byteLength, at);
    closeSync(descriptor);
  }
}
