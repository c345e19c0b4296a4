import { randomUUID } from "node:crypto";
import { threadId } from "node:worker_threads";
import { z } from "zod";
import { currentProcess, type Liveness, livenessOf } from "../../backends/host/process-identity.js";

const short = z.string().max(256);

/** Who holds a notebook. */
export const ownerSchema = z.strictObject({
  pid: z.int().positive(),
  /** In ticks since boot; distinguishes processes with the same pid. */
  startTime: short.nullable(),
  bootId: short.nullable(),
  /** The namespace in which the pid counts. */
  pidSpace: short.nullable(),
  host: short,
  /** Missing in heads of earlier versions. */
  thread: z.int().nonnegative().optional(),
  incarnation: short,
  since: short,
});

export type Owner = z.infer<typeof ownerSchema>;

const REGISTRY = Symbol.for("cellar.notebooks.held");

export function currentOwner(): Owner {
  const [incarnation, since] = [randomUUID(), new Date().toISOString()];
  return { ...currentProcess(), thread: threadId, incarnation, since };
}

/** What this thread holds open; a head may still name one that was closed. */
export function heldHere(): Set<string> {
  const known: unknown = Reflect.get(globalThis, REGISTRY);
  if (known instanceof Set) return known as Set<string>;
  const made = new Set<string>();
  Reflect.set(globalThis, REGISTRY, made);
  return made;
}

/** An opening that this thread has closed is dead, whatever the head says. */
export function livenessOfOwner(owner: Owner): Liveness {
  const liveness = livenessOf(owner);
  const isHere = owner.pid === process.pid && owner.thread === threadId;
  return liveness === "alive" && isHere && !heldHere().has(owner.incarnation) ? "dead" : liveness;
}

export function describeOwner({ pid, host, since }: Owner): string {
  return `process ${pid} on ${host}, since ${since}`;
}
