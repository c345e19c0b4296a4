import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";

const short = z.string().max(256);

/** Who holds a notebook. */
export const ownerSchema = z.strictObject({
  pid: z.int().positive(),
  /** In ticks since the machine started, by which a process is told from a later one of its pid. */
  startTime: short.nullable(),
  bootId: short.nullable(),
  /** The namespace in which the pid counts. */
  pidSpace: short.nullable(),
  host: short,
  /** New for each opening. */
  incarnation: short,
  since: short,
});

export type Owner = z.infer<typeof ownerSchema>;

export type Liveness = "alive" | "dead" | "unknown";

/** This process, as the holder of one opening. */
export function currentOwner(): Owner {
  return {
    pid: process.pid,
    startTime: statOf(process.pid)?.startTime ?? null,
    ...machine(),
    incarnation: randomUUID(),
    since: new Date().toISOString(),
  };
}

/** Unknown is who cannot be seen from here: on another host, or in another container. */
export function livenessOf(owner: Omit<Owner, "incarnation" | "since">): Liveness {
  const here = machine();
  if (owner.host !== here.host) return "unknown";
  if (owner.bootId !== here.bootId) return "dead";
  if (owner.pidSpace !== here.pidSpace) return "unknown";
  if (owner.startTime === null) return answersSignals(owner.pid) ? "alive" : "dead";
  const stat = statOf(owner.pid);
  return stat?.startTime === owner.startTime && !stat.isEnded ? "alive" : "dead";
}

export function describeOwner({ pid, host, since }: Owner): string {
  return `process ${pid} on ${host}, since ${since}`;
}

function machine(): Pick<Owner, "host" | "bootId" | "pidSpace"> {
  return {
    host: hostname().slice(0, 256),
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

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** What only some systems have. */
function present(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
