import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonAddress } from "./address.js";

const NAME = "daemon.pid";

/** Records the daemon's pid, so that one that hangs can be ended. Failing to write it is harmless. */
export function writePid(folder: string): void {
  const own = join(folder, `.p${randomBytes(4).toString("hex")}`);
  try {
    writeFileSync(own, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
    // Replaces an existing file without following a link.
    renameSync(own, join(folder, NAME));
  } catch {
    rmSync(own, { force: true });
    removePid(folder);
  }
}

export function removePid(folder: string): void {
  try {
    unlinkSync(join(folder, NAME));
  } catch {
    // It is not there, or is nothing that was written here.
  }
}

/** The process that was noted at the address, when it is alive and this user's. */
export function livePid({ folder }: DaemonAddress): number | undefined {
  if (folder === undefined) return undefined;
  try {
    const pid = Number(readFileSync(join(folder, NAME), "utf8"));
    // Zero and less are groups of processes.
    if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}
