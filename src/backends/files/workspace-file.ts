import { CellarError, describeError, isCellarError } from "../../errors.js";

export interface WorkspaceFile {
  /** Below /workspace. */
  readonly path: string;
  readonly bytes: number;
  readonly modified: Date;
  readonly kind: "file" | "folder" | "link" | "other";
}

export interface FileListing {
  readonly files: readonly WorkspaceFile[];
  readonly isCut: boolean;
}

export interface ReadOptions {
  /** A larger file is refused. Default: what the workspace may hold. */
  readonly maxBytes?: number | undefined;
}

export interface WorkspaceLimit {
  readonly bytes: number;
  readonly files: number;
}

/** Names in a workspace, folders among them. */
export const MAX_FILES = 20_000;
const MEBIBYTE = 1024 * 1024;

export function workspaceLimit({ workspaceMb }: { workspaceMb: number }): WorkspaceLimit {
  return { bytes: workspaceMb * MEBIBYTE, files: MAX_FILES };
}

export function fileNotFound(path: string): CellarError {
  return new CellarError("NOT_FOUND", `there is no ${JSON.stringify(path)} in the workspace`, {
    remedy: "List the files to see what there is.",
  });
}

export function workspaceFull(most: number, what: "bytes" | "files and folders"): CellarError {
  return new CellarError("TOO_LARGE", `the workspace is full: its limit is ${most} ${what}`, {
    remedy: "Remove files that are no longer needed, or raise limits.workspaceMb.",
  });
}

export function fileTooLarge(path: string, bytes: number, most: number): CellarError {
  return new CellarError("TOO_LARGE", `${path} has ${bytes} bytes, more than ${most}`, {
    remedy: "Read it in parts inside the sandbox, or raise maxBytes.",
  });
}

/** The system's own words say little about a path that a session can bend. */
export function fileFault(error: unknown, path: string): unknown {
  if (isCellarError(error) || (error as Error | undefined)?.name === "AbortError") return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return codeFault(code, path, error) ?? failed("IO_ERROR", path, unusable(describeError(error)));
}

/** By the name of a system's error; undefined for one that has no words of its own here. */
export function codeFault(
  code: string | undefined,
  path: string,
  cause?: unknown,
): CellarError | undefined {
  const told = (kind: FaultKind, problem: string, remedy?: string) =>
    failed(kind, path, problem, remedy, cause);
  switch (code) {
    case "ENOENT":
      return fileNotFound(path);
    case "ELOOP":
    case "ENOTDIR":
      return told(
        "INVALID_INPUT",
        "leads through a symbolic link, or through a file as if it were a folder; symbolic links are not followed",
        "Name the file itself; a symbolic link can be read inside the sandbox.",
      );
    case "EISDIR":
    case "ENOTEMPTY":
      return told("INVALID_INPUT", "is a folder", "Name a file, or remove the folder first.");
    case "ENXIO":
      return told("INVALID_INPUT", "is not a file");
    case "EACCES":
    case "EPERM":
      return told(
        "IO_ERROR",
        "is not accessible: its permissions deny the session's user",
        "Change its permissions inside the sandbox with os.chmod.",
      );
    case "EAGAIN":
      return told("CONFLICT", "is in use by the session", "Try again when the cell is over.");
    case "ENOSPC":
    case "EDQUOT":
      return told("IO_ERROR", "does not fit: the disk is full", "Free some space on the disk.");
    default:
      return undefined;
  }
}

export function unusable(reason: string): string {
  return `could not be used: ${reason}`;
}

type FaultKind = "INVALID_INPUT" | "CONFLICT" | "IO_ERROR";

function failed(
  kind: FaultKind,
  path: string,
  problem: string,
  remedy?: string,
  cause?: unknown,
): CellarError {
  return new CellarError(kind, `${JSON.stringify(path)} ${problem}`, { remedy, cause });
}
