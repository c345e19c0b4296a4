import { rm, stat, writeFile } from "node:fs/promises";
import { CellarError, describeError } from "../../errors.js";
import { escapeControls } from "../terminal/terminal.js";

const KILOBYTE = 1024;
const MEGABYTE = KILOBYTE * KILOBYTE;

export interface WriteOptions {
  readonly force?: boolean | undefined;
  readonly mode?: number;
}

export interface Written {
  readonly path: string;
  readonly bytes: number;
}

/** Writes a new file of the host; replaces one only with `force`. */
export async function writeHostFile(
  path: string,
  content: string | Uint8Array,
  { force = false, mode = 0o666 }: WriteOptions = {},
): Promise<Written> {
  try {
    // Writing to devices and pipes destroys nothing.
    const there = await stat(path).catch(() => undefined);
    const isKept = !force && (there === undefined || there.isFile());
    await writeFile(path, content, { mode, flag: isKept ? "wx" : "w" });
  } catch (error) {
    throw unwritten(path, error);
  }
  return { path, bytes: typeof content === "string" ? Buffer.byteLength(content) : content.length };
}

/** For files that are written incrementally: fails if the path exists, or removes it with `force`. */
export async function makeWay(path: string, force = false): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isFile() !== true) return;
  if (!force) throw alreadyThere(path);
  await rm(path, { force: true });
}

export async function tellFile(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there !== undefined) tellWritten({ path, bytes: there.size });
}

/** On stderr, because stdout carries the result. */
export function tellWritten({ path, bytes }: Written): void {
  process.stderr.write(`${writtenLine({ path, bytes })}\n`);
}

export function writtenLine({ path, bytes }: Written): string {
  return `wrote ${escapeControls(path)} (${sizeText(bytes)})`;
}

/** A KB has 1024 bytes, a MB 1024 KB. */
export function sizeText(bytes: number): string {
  if (bytes === 1) return "1 byte";
  if (bytes < KILOBYTE) return `${bytes} bytes`;
  if (bytes < MEGABYTE) return `${Math.round(bytes / KILOBYTE)} KB`;
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}

function unwritten(path: string, error: unknown): CellarError {
  if ((error as NodeJS.ErrnoException).code === "EEXIST") return alreadyThere(path, error);
  return new CellarError("IO_ERROR", `${path} cannot be written: ${describeError(error)}`, {
    remedy: "Name a file in an existing, writable folder.",
    details: { named: path },
    cause: error,
  });
}

function alreadyThere(path: string, cause?: unknown): CellarError {
  return new CellarError("INVALID_INPUT", `${path} already exists`, {
    remedy: "Give --force to replace it, or another name.",
    cause,
  });
}
