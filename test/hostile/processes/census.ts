import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { descendants } from "../attack-runner.js";

const GONE_MS = 40_000;
const LOOK_MS = 10;

/** The first process of a session, as the host sees it: with its end the kernel has ended all others. */
export interface SessionInit {
  readonly pid: number;
  /** A number that is used again is another process. */
  readonly started: string;
}

/** The session whose head has given itself this name. */
export function findInit(name: string, root = process.pid): SessionInit {
  for (const pid of descendants(root)) {
    const head = statOf(pid);
    if (head?.name !== name) continue;
    const init = statOf(Number(head.fields[1]));
    if (init !== undefined) return { pid: Number(head.fields[1]), started: startOf(init) };
  }
  throw new Error(`no process of this host is called ${name}`);
}

/** Nothing of the session is left. */
export async function expectGone({ pid, started }: SessionInit): Promise<void> {
  const deadline = Date.now() + GONE_MS;
  let left = isThere(pid, started);
  while (left && Date.now() < deadline) {
    await sleep(LOOK_MS);
    left = isThere(pid, started);
  }
  expect(left, "the session's processes outlived it").toBe(false);
}

function isThere(pid: number, started: string): boolean {
  const stat = statOf(pid);
  return stat !== undefined && startOf(stat) === started;
}

interface Stat {
  readonly name: string;
  /** From the state on. */
  readonly fields: readonly string[];
}

function startOf({ fields }: Stat): string {
  return fields[19] ?? "";
}

function statOf(pid: number): Stat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const end = stat.lastIndexOf(")");
    return { name: stat.slice(stat.indexOf("(") + 1, end), fields: stat.slice(end + 2).split(" ") };
  } catch {
    return undefined;
  }
}
