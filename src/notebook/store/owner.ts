import { randomUUID } from "node:crypto";
import { threadId } from "node:worker_threads";
import { z } from "zod";
import { currentProcess, type Liveness, livenessOf } from "../../backends/host/process-identity.js";

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
  /** The thread of the process; heads of earlier versions do not tell. */
  thread: z.int().nonnegative().optional(),
  /** New for each opening. */
  incarnation: short,
  since: short,
});

export type Owner = z.infer<typeof ownerSchema>;

/** Shared by all copies of this module in a thread. */
const REGISTRY = Symbol.for("cellar.notebooks.held");

/** This process, as the holder of one opening. */
export function currentOwner(): Owner {
  const [incarnation, since] = [randomUUID(), new Date().toISOString()];
  return { ...currentProcess(), thread: threadId, incarnation, since };
}

/** What this thread holds open, by incarnation: a head may name one that was let go of. */
export function heldHere(): Set<string> {
  const known: unknown = Reflect.get(globalThis, REGISTRY);
  if (known instanceof Set) return known as Set<string>;
  const made = new Set<string>();
  Reflect.set(globalThis, REGISTRY, made);
  return made;
}

/** Of the opening: dead is also one that this very thread has closed, whatever the head says. */
export function livenessOfOwner(owner: Owner): Liveness {
  const liveness = livenessOf(owner);
  const isHere = owner.pid === process.pid && owner.thread === threadId;
  return liveness === "alive" && isHere && !heldHere().has(owner.incarnation) ? "dead" : liveness;
}

export function describeOwner({ pid, host, since }: Owner): string {
  return `process ${pid} on ${host}, since ${since}`;
}
