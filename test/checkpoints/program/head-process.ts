import { readlinkSync } from "node:fs";
import { pidsKnownAs } from "../../support/processes.js";
import type { HeadNumbers } from "./line.js";

/** The number on the host of the process that runs the cells. */
export function hostPid({ pid, namespace }: HeadNumbers): number | undefined {
  return pidsKnownAs(pid).find((one) => namespaceOf(one) === namespace);
}

/** The pid namespace of a process: that of its session. */
export function namespaceOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return "";
  }
}
