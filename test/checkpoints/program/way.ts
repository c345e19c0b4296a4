import { sessionPids } from "../../support/processes.js";
import type { Ground } from "./ground.js";
import { namespaceOf } from "./head-process.js";

const CELLS = 6;

/** By what a session here really makes checkpoints: a fork leaves a process for each. */
export async function wayOf(ground: Ground): Promise<"pages" | "forks"> {
  await using sandbox = await ground.open(0, { checkpoints: "always" });
  let namespace = "";
  for (let left = CELLS; left > 0; left -= 1) {
    const run = await sandbox.execute("import os; print(os.readlink('/proc/self/ns/pid'))");
    namespace = run.stdout.trim();
    await sandbox.checkpoints();
  }
  return copiesIn(namespace) >= CELLS ? "forks" : "pages";
}

/** How many processes of a session hold checkpoints: all but its first one and the head. */
export function copiesIn(namespace: string): number {
  return sessionPids().filter((pid) => namespaceOf(pid) === namespace).length - 2;
}
