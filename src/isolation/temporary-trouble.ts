import { accessSync, constants, existsSync, type StatsFs, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { CellarError, describeError, isCellarError } from "../errors.js";

/** The cause that such an error carries. */
export const TEMPORARY_FOLDER = "temporary-folder";

/** For what could not be written to the temporary folder; `what` begins the sentence. */
export function temporaryTrouble(what: string, path: string, error: unknown): CellarError {
  if (isCellarError(error)) return error;
  const [reason, remedy] = explained(error, path);
  return new CellarError("IO_ERROR", `${what} could not be written to ${path}: ${reason}`, {
    remedy,
    details: { cause: TEMPORARY_FOLDER, errno: codeOf(error), path },
    cause: error,
  });
}

/** What the system refused, in words, and what to do about it. */
export function explained(error: unknown, path: string): readonly [reason: string, remedy: string] {
  const writable = "Set TMPDIR to a folder that can be written.";
  switch (codeOf(error)) {
    case "ENOSPC":
      return [`no space left (${spaceAt(path)})`, "Set TMPDIR to a folder with more space."];
    case "EDQUOT":
      return ["the disk quota is used up", "Set TMPDIR to a folder with more space."];
    case "EROFS":
      return ["the file system is read-only", writable];
    case "EACCES":
    case "EPERM":
      return ["this user may not write there", writable];
    case "ENOENT":
    case "ENOTDIR":
      return ["there is no such folder", "Set TMPDIR to a folder that is there."];
    case "EMFILE":
    case "ENFILE":
      return ["too many files are open", "Close some, or raise the limit (ulimit -n)."];
    default:
      return [describeError(error), writable];
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** Free space and inodes, for an error about too little of either. */
function spaceAt(path: string): string {
  const found = statfsNear(path);
  if (found === undefined) return "its size is unknown";
  const { bsize, blocks, bavail, files, ffree } = found;
  if (files > 0 && ffree === 0 && bavail > 0) return `no inodes left of ${files}`;
  return `${shownBytes(blocks * bsize)} in all, ${shownBytes(bavail * bsize)} free`;
}

/** Of the path, or what is there above it. */
export function statfsNear(path: string): StatsFs | undefined {
  try {
    return statfsSync(nearest(path));
  } catch {
    return undefined;
  }
}

/** The path itself, or the first folder above it that is there. */
export function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

/** Why nothing can be written or made at the path; undefined where it can. */
export function writeFault(path: string): unknown {
  try {
    accessSync(nearest(path), constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

export function shownBytes(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const power = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const number = bytes / 1024 ** power;
  return `${number < 10 && power > 0 ? number.toFixed(1).replace(".0", "") : Math.round(number)} ${units[power]}`;
}
