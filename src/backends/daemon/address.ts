import { lstatSync, mkdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { CellarError, describeError } from "../../errors.js";

/** Where a user's daemon is found. A named pipe has no folder. */
export interface DaemonAddress {
  readonly path: string;
  readonly folder: string | undefined;
}

const PIPE = "\\\\.\\pipe\\rlm-daemon";

/** The kernel's limit; it silently truncates longer paths. */
const MAX_PATH_BYTES = 107;
const OTHERS = 0o077;

export function daemonAddress(home: string, platform = process.platform): DaemonAddress {
  if (platform === "win32") return { path: PIPE, folder: undefined };
  const folder = join(home, ".rlm");
  return { path: join(folder, "daemon.sock"), folder };
}

/** Whether there is a socket, which must be this user's and in a private folder. */
export function hasSocket(address: DaemonAddress): boolean {
  const { path, folder } = address;
  if (folder === undefined) return true;
  const stats = look(path);
  if (stats === undefined) return false;
  checkFolder(folder);
  if (!stats.isSocket()) {
    throw refused(`${path} is not a socket`, `Check what it is, then remove it: rm ${path}`);
  }
  if (!isOwn(stats)) {
    throw refused(`${path} belongs to uid ${stats.uid}, not to you`, `Remove it: rm ${path}`);
  }
  if ((stats.mode & OTHERS) !== 0) {
    throw refused(`${path} is open to other users`, `Run chmod 600 ${path}`);
  }
  return true;
}

/** Makes the folder, or sees that the one that is there is private. */
export function prepareFolder({ path, folder }: DaemonAddress): void {
  if (folder === undefined) return;
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    throw refused(
      `${path} has ${bytes} bytes; a socket's path may have at most ${MAX_PATH_BYTES}`,
      "Set HOME to a folder with a shorter path.",
    );
  }
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw refused(
        `cannot create ${folder}: ${describeError(error)}`,
        "Set HOME to a folder that you own.",
      );
    }
  }
  checkFolder(folder);
}

function checkFolder(folder: string): void {
  const stats = look(folder);
  if (stats?.isDirectory() !== true) {
    throw refused(`${folder} is not a folder`, `Check what it is, then remove it: rm ${folder}`);
  }
  if (!isOwn(stats)) {
    throw refused(
      `${folder} belongs to uid ${stats.uid}, not to you`,
      "Set HOME to a folder that you own.",
    );
  }
  if ((stats.mode & OTHERS) !== 0) {
    throw refused(`${folder} is open to other users`, `Run chmod 700 ${folder}`);
  }
}

/** Symbolic links are never followed. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw refused(`cannot read ${path}: ${describeError(error)}`);
  }
}

function isOwn(stats: Stats): boolean {
  return stats.uid === process.getuid?.();
}

export function refused(message: string, remedy?: string): CellarError {
  return new CellarError("DAEMON_UNAVAILABLE", `cannot use the daemon's address: ${message}`, {
    remedy,
    details: { cause: "address" },
  });
}
