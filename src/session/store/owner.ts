import { randomUUID } from "node:crypto";
import { z } from "zod";
import { currentProcess } from "../../backends/native/process-mark.js";

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

/** This process, as the holder of one opening. */
export function currentOwner(): Owner {
  return { ...currentProcess(), incarnation: randomUUID(), since: new Date().toISOString() };
}

export function describeOwner({ pid, host, since }: Owner): string {
  return `process ${pid} on ${host}, since ${since}`;
}
