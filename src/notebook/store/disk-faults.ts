import { CellarError, describeError, isCellarError } from "../../errors.js";

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "free some space on that disk, or choose a folder on another one"],
  ["EDQUOT", "free some of the quota, or choose a folder on another disk"],
  ["ENOENT", "choose a folder on a disk where folders can be created"],
  ["ENOTDIR", "a file is where a folder should be: choose another folder"],
  ["EEXIST", "a file is where a folder should be: choose another folder"],
  ["EROFS", "choose a writable folder"],
  ["EACCES", "give this user access to it, or choose another folder"],
  ["EPERM", "give this user access to it, or choose a folder on a disk that supports hard links"],
  ["ENOTSUP", "choose a folder on a disk that supports hard links"],
  ["EMFILE", "raise the limit on open files (ulimit -n)"],
  ["ENFILE", "raise the system's limit on open files"],
]);

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? "");
}

/** A `CellarError` stays as it is. */
export function diskFault(doing: string, error: unknown): CellarError {
  if (isCellarError(error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new CellarError("IO_ERROR", `${doing} failed: ${describeError(error)}`, {
    remedy: REMEDIES.get(code ?? ""),
    details: { errno: code },
    cause: error,
  });
}
