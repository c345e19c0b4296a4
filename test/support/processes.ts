import { readdirSync, readFileSync } from "node:fs";

interface Seen {
  readonly pid: number;
  readonly parent: number;
  /** Its number in each pid namespace: the host's, the wall's and a session's. */
  readonly numbers: readonly number[];
}

/** Behind a wall bubblewrap, warden and zygote come first; what else is in no session is a template. */
const ZYGOTE = 3;

/** The templates of all zygotes around this process. */
export function templatePids(): number[] {
  return pidsWithoutSession((number) => number > ZYGOTE);
}

/** The preloaded interpreters of all walls around this process. */
export function zygotePids(): number[] {
  return pidsWithoutSession((number) => number === ZYGOTE);
}

/** Every process of every session behind the walls around this process. */
export function sessionPids(): number[] {
  return seenPids(({ numbers }) => numbers.length === 3);
}

/** The first processes of those sessions. */
export function initPids(): number[] {
  return seenPids(({ numbers }) => numbers.length === 3 && numbers[2] === 1);
}

/** Those that sessions know under this number. */
export function pidsKnownAs(number: number): number[] {
  return seenPids(({ numbers }) => numbers.length === 3 && numbers[2] === number);
}

function pidsWithoutSession(wanted: (number: number) => boolean): number[] {
  return seenPids(({ numbers }) => numbers.length === 2 && wanted(numbers[1] ?? 0));
}

function seenPids(wanted: (seen: Seen) => boolean): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => look(Number(name)))
    .filter((seen) => seen !== undefined && wanted(seen))
    .map((seen) => seen?.pid ?? 0)
    .filter(descends);
}

export function parentOf(pid: number): number {
  return look(pid)?.parent ?? 0;
}

function look(pid: number): Seen | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, "m").exec(status)?.[1] ?? "";
    // What has ended is no process any more, though its parent has not looked yet.
    if (field("State").startsWith("Z")) return undefined;
    const numbers = field("NSpid").split(/\s+/).map(Number);
    return { pid, parent: Number(field("PPid")), numbers };
  } catch {
    return undefined;
  }
}

function descends(pid: number): boolean {
  for (let at = look(pid); at !== undefined && at.pid > 1; at = look(at.parent)) {
    if (at.pid === process.pid) return true;
  }
  return false;
}
