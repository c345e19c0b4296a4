import { setTimeout as sleep } from "node:timers/promises";
import type { Chance } from "./chance.js";
import { childrenOf, findProcesses, INNER_KINDS, type InnerKind } from "./process-tree.js";
import { type DiskFault, planDiskFault, planStall } from "./shim.js";

/** What `--only` can choose. */
export const FAULT_KINDS = [
  "kill",
  "stop",
  "disk",
  "stall",
  "takeover",
  "session",
  "daemon",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export type Target = "host" | InnerKind | "copy-while-writing";

export type Fault =
  | { readonly kind: "kill"; readonly target: Target; readonly delay: number }
  | {
      readonly kind: "stop";
      readonly target: Target;
      readonly delay: number;
      /** Milliseconds until it goes on. */
      readonly hold: number;
    }
  | { readonly kind: "disk" | "stall"; readonly disk: DiskFault };

/** Longer than a parked copy is waited for. */
const LONG_STOP_MS = 4_500;
const WRITER_MS = 150;
const PARKING_MS = 14;

export function planFault(chance: Chance, kinds: readonly FaultKind[]): Fault | undefined {
  const usable = kinds.filter((kind) => ["kill", "stop", "disk", "stall"].includes(kind));
  if (usable.length === 0) return undefined;
  const kind = chance.one(usable);
  switch (kind) {
    case "kill":
      return { kind, target: planTarget(chance), delay: chance.one([0, 2, 10, 30, 60]) };
    case "stop": {
      const target = planTarget(chance);
      const isLong = chance.below(target === "copy-while-writing" ? 3 : 60) === 0;
      const hold = isLong ? LONG_STOP_MS : chance.one([20, 100, 300]);
      return { kind, target, delay: chance.one([0, 2, 10, 30, 60]), hold };
    }
    case "stall":
      return { kind, disk: planStall(chance) };
    default:
      return { kind: "disk", disk: planDiskFault(chance) };
  }
}

function planTarget(chance: Chance): Target {
  const targets: Target[] = [...INNER_KINDS, "host", "host", "writer", "copy-while-writing"];
  return chance.one([...targets, "copy-while-writing"]);
}

export function describeFault(fault: Fault): string {
  if ("disk" in fault) {
    const { calls, error, permille, slowUs } = fault.disk;
    return slowUs > 0 ? `fsync takes ${slowUs} us` : `${error} in ${permille} ‰ of ${calls}`;
  }
  const hold = fault.kind === "stop" ? ` for ${fault.hold} ms` : "";
  return `${fault.kind} ${fault.target} after ${fault.delay} ms${hold}`;
}

/** Whether it strikes a snapshot on its way, which begins when a cell is over. */
export function needsWriter(fault: Fault | undefined): boolean {
  const target = fault !== undefined && "target" in fault ? fault.target : undefined;
  return target === "writer" || target === "copy-while-writing";
}

/** Sends a signal to one process of that kind; false where there is none. */
export async function strike(
  host: number,
  fault: Extract<Fault, { kind: "kill" | "stop" }>,
  signalHost: (name: NodeJS.Signals) => void,
): Promise<boolean> {
  // When its cell is answered, a copy of the head may still be on its way.
  await sleep(needsWriter(fault) ? PARKING_MS : fault.delay);
  const signal = fault.kind === "kill" ? "SIGKILL" : "SIGSTOP";
  if (fault.target === "host") {
    signalHost(signal);
    if (fault.kind === "stop") {
      await sleep(fault.hold);
      signalHost("SIGCONT");
    }
    return true;
  }
  const pid = await aim(host, fault.target);
  if (pid === undefined || !send(pid, signal)) return false;
  if (fault.kind === "stop") {
    await sleep(fault.hold);
    send(pid, "SIGCONT");
  }
  return true;
}

async function aim(host: number, target: Exclude<Target, "host">): Promise<number | undefined> {
  switch (target) {
    case "writer":
      return await newWriter(host);
    case "copy-while-writing": {
      const copy = findProcesses(host, "copy").at(-1);
      return (await newWriter(host)) === undefined ? undefined : copy;
    }
    default:
      return findProcesses(host, target).at(-1);
  }
}

/** A new child of init; nothing else is born there while no cell runs. */
async function newWriter(host: number): Promise<number | undefined> {
  const inits = findProcesses(host, "init");
  const known = new Set(inits.flatMap(childrenOf));
  const end = performance.now() + WRITER_MS;
  while (performance.now() < end) {
    const born = inits.flatMap(childrenOf).find((pid) => !known.has(pid));
    if (born !== undefined) return born;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return undefined;
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
