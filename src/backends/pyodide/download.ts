import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const TIMEOUT_MS = 120_000;
const MAX_BYTES = 256 * 1024 * 1024;
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;

/** A file from a web server, whole. */
export async function fetchBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > MAX_BYTES) throw new Error(`${url} is larger than ${MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Atomic: readers never see part of a file, even when several processes store it. */
export function storeFile(folder: string, name: string, content: Uint8Array): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  letRead(folder, FOLDER_MODE);
  const draft = join(folder, `.${name}.${process.pid}-${randomBytes(6).toString("hex")}`);
  try {
    writeFileSync(draft, content, { mode: FILE_MODE, flag: "wx" });
    letRead(draft, FILE_MODE);
    renameSync(draft, join(folder, name));
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Whether this user stored the file before. */
export function isStored(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && isOwn(stats) && (stats.mode & 0o022) === 0;
}

/**
 * Lets a session that has another identity read what was stored, which is public anyway: the folders
 * above stay private. Files of an earlier version, or under a strict umask, were for the owner alone.
 */
export function shareStored(folder: string, names: readonly string[]): void {
  letRead(folder, FOLDER_MODE);
  for (const name of names) letRead(join(folder, name), FILE_MODE);
}

function letRead(path: string, mode: number): void {
  if (process.platform === "win32") return;
  const kind = mode === FOLDER_MODE ? constants.O_DIRECTORY : 0;
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | kind);
  try {
    const stats = fstatSync(descriptor);
    if (!isOwn(stats)) throw new Error(`${path} belongs to another user`);
    if ((stats.mode & 0o777) !== mode) fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}

function isOwn({ uid }: Stats): boolean {
  const own = process.getuid?.();
  return own === undefined || own === uid;
}
