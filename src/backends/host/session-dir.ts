import { chownSync, existsSync, lstatSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { CellarError } from "../../errors.js";
import { explained } from "../../isolation/temporary-trouble.js";
import { sandboxIdentity } from "./identity.js";

export const WORKSPACE_FOLDER = "workspace";
/** The state to restore the session from, until that is done. */
export const STATE_FILE = "state";
/** What the session may read at /spilled. */
export const SPILL_FOLDER = "spilled";

/**
 * A folder of the host for one session. Its `workspace`, if any, is the session's /workspace; nothing else
 * of it can be seen from inside. `root` holds the folders of many sessions and is bound into the wall once.
 */
export interface SessionDir {
  readonly root: string;
  /** A single name, without a slash. */
  readonly name: string;
  /** Whether the host's proxy listens on the socket `egress.sock` in it. */
  readonly hasEgress: boolean;
  /** Whether an empty session may replace a lost one. Default: its owner decides. */
  readonly isReplaceable?: boolean | undefined;
}

export function sessionDirPath({ root, name }: Pick<SessionDir, "root" | "name">): string {
  return join(root, name);
}

/** The owner that the files must have; undefined for the caller. */
export function sessionDirOwner(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? sandboxIdentity() : undefined;
}

/** Creates what is missing of the folder, and `more` in it; returns its workspace. */
export function makeSessionDir(
  dir: Pick<SessionDir, "root" | "name">,
  more: readonly string[] = [],
): string {
  const folder = makeSessionFolder(dir);
  const workspace = join(folder, WORKSPACE_FOLDER);
  for (const path of [workspace, ...more.map((name) => join(folder, name))]) makeOwned(path);
  return workspace;
}

/** Only the folder: without a `workspace` in it, the session's is in memory. */
export function makeSessionFolder(dir: Pick<SessionDir, "root" | "name">): string {
  if (!/^[\w-]{1,100}$/.test(dir.name)) {
    throw new CellarError(
      "INVALID_INPUT",
      `${JSON.stringify(dir.name)} is not a valid session folder name: use 1 to 100 letters, digits, _ and -`,
    );
  }
  const folder = sessionDirPath(dir);
  makePath(dir.root);
  makeOwned(folder);
  return folder;
}

/** Node's own way never ends where a folder that is there takes none, as /proc. */
function makePath(path: string): void {
  try {
    mkdirSync(path, { mode: 0o711 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    const parent = dirname(path);
    if (code === "ENOENT" && !existsSync(parent)) {
      makePath(parent);
      makePath(path);
      return;
    }
    throw unmade(path, error);
  }
}

function unmade(path: string, error: unknown): CellarError {
  const [reason] = explained(error, path);
  return new CellarError("IO_ERROR", `could not create ${path}: ${reason}`, {
    remedy: "Choose a writable folder.",
    details: { errno: (error as NodeJS.ErrnoException).code },
    cause: error,
  });
}

function makeOwned(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
    const owner = sessionDirOwner();
    if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unmade(path, error);
    if (lstatSync(path).isDirectory()) return;
    throw new CellarError("IO_ERROR", `${path} is not a folder`, { cause: error });
  }
}
