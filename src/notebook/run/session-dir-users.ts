import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type SessionDir,
  sessionDirPath,
  WORKSPACE_FOLDER,
} from "../../backends/host/session-dir.js";

/** How long to wait for the processes of a dead owner to end. */
const LONGEST_MS = 2_000;
const PACE_MS = 50;
const PID = /^\d+$/;

type Place = Pick<SessionDir, "root" | "name">;

/** Whether no process that this one may see has the folder mounted or works in it. */
export async function isUnused(sessionDir: Place): Promise<boolean> {
  const end = performance.now() + LONGEST_MS;
  while ((await usersOf(sessionDir)).length > 0) {
    if (performance.now() > end) return false;
    await sleep(PACE_MS);
  }
  return true;
}

/** The pids of processes that can reach its files. Nobody where the system has no /proc. */
export async function usersOf(sessionDir: Place): Promise<readonly number[]> {
  const names = await readdir("/proc").catch((): string[] => []);
  const here = await linkOf(process.pid, "ns/mnt");
  const users: number[] = [];
  for (const pid of names.filter((name) => PID.test(name)).map(Number)) {
    if (await isUser(pid, sessionDir, here)) users.push(pid);
  }
  return users;
}

async function isUser(pid: number, sessionDir: Place, here: string | undefined): Promise<boolean> {
  const folder = sessionDirPath(sessionDir);
  const cwd = await linkOf(pid, "cwd");
  if (cwd === folder || cwd?.startsWith(`${folder}/`)) return true;
  const namespace = await linkOf(pid, "ns/mnt");
  if (namespace === undefined || namespace === here) return false;
  // A mount names the folder that it shows; no other path has the name of a session folder.
  const mounts = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "");
  return mounts.includes(`${join("/", sessionDir.name, WORKSPACE_FOLDER)} `);
}

async function linkOf(pid: number, name: string): Promise<string | undefined> {
  return await readlink(`/proc/${pid}/${name}`).catch(() => undefined);
}
