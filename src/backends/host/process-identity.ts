import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A process, told from others of its pid: later ones, and those of other machines and containers. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In ticks since the machine started; null where the system does not tell. */
  readonly startTime: string | null;
  readonly host: string;
  readonly bootId: string | null;
  /** The namespace in which the pid counts. */
  readonly pidSpace: string | null;
}

export type Liveness = "alive" | "dead" | "unknown";

type Machine = Omit<ProcessIdentity, "pid" | "startTime">;

const LONGEST_HOST = 256;

export function currentProcess(): ProcessIdentity {
  const { pid } = process;
  return { pid, startTime: statOf(pid)?.startTime ?? null, ...machine() };
}

/** `unknown`: on another host or in another container. */
export function livenessOf({ pid, startTime, ...place }: ProcessIdentity): Liveness {
  const here = machine();
  if (place.host !== here.host) return "unknown";
  if (place.bootId !== here.bootId) return "dead";
  if (place.pidSpace !== here.pidSpace) return "unknown";
  if (startTime === null) return isRunning(pid) ? "alive" : "dead";
  const stat = statOf(pid);
  return stat?.startTime === startTime && !stat.isEnded ? "alive" : "dead";
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const LABEL = /^(\d+)-(\d*)-([0-9a-f]{12})$/;

/** A process in a word that can stand in the name of a file. */
export function labelOf({ pid, startTime, ...place }: ProcessIdentity): string {
  return `${pid}-${startTime ?? ""}-${digestOf(place)}`;
}

export function livenessOfLabel(label: string): Liveness {
  const [, pid, startTime, digest] = LABEL.exec(label) ?? [];
  const here = machine();
  if (digest !== digestOf(here)) return "unknown";
  return livenessOf({ pid: Number(pid), startTime: startTime || null, ...here });
}

function digestOf({ host, bootId, pidSpace }: Machine): string {
  const text = JSON.stringify([host, bootId, pidSpace]);
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function machine(): Machine {
  return {
    host: hostname().slice(0, LONGEST_HOST),
    bootId: present(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    pidSpace: present(() => readlinkSync("/proc/self/ns/pid")),
  };
}

function statOf(pid: number): { startTime: string; isEnded: boolean } | null {
  const text = present(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (text === null) return null;
  // The second field is the program's name, in brackets, and may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { startTime: fields[19] ?? "", isEnded: fields[0] === "Z" || fields[0] === "X" };
}

function present(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
