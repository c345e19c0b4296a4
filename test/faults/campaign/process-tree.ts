import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Everything that takes part in one session, from outside to inside. */
export const INNER_KINDS = [
  "bwrap",
  "warden",
  "zygote",
  "init",
  "head",
  "copy",
  "writer",
  "relay",
] as const;
export type InnerKind = (typeof INNER_KINDS)[number];

export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
  readonly session: number;
  readonly startTime: number;
}

export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  } catch {
    return [];
  }
}

export function factsOf(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name, in brackets, and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent, , session] = fields;
    const startTime = Number(fields[19]);
    return { pid, parent: Number(parent), state, session: Number(session), startTime };
  } catch {
    return undefined;
  }
}

/** The pids of one kind below a host, oldest first. A writer is none until one begins to write. */
export function findProcesses(host: number, kind: InnerKind): number[] {
  const walls = childrenOf(host).filter((pid) => programOf(pid).includes("bwrap"));
  const inner = walls.flatMap(childrenOf);
  const wardens = inner.flatMap(childrenOf);
  const below = wardens.flatMap(childrenOf);
  const inits = below.filter((pid) => depthOf(pid) >= 3);
  const family = inits.map((init) => {
    const members = childrenOf(init).flatMap((pid) => factsOf(pid) ?? []);
    const byAge = members.sort((a, b) => a.startTime - b.startTime || a.pid - b.pid);
    const leaders = byAge.filter(({ pid, session }) => pid === session);
    // The relay is there before the first head.
    const relays = leaders.length > 1 ? leaders.slice(0, 1) : [];
    const heads = leaders.slice(relays.length);
    return { relays, heads, copies: byAge.filter((one) => !leaders.includes(one)) };
  });
  const pidsOf = (facts: readonly ProcessFacts[]) => facts.map(({ pid }) => pid);
  switch (kind) {
    case "bwrap":
      return [...walls, ...inner];
    case "warden":
      return wardens;
    case "zygote":
      return below.filter((pid) => depthOf(pid) === 2);
    case "init":
      return inits;
    case "head":
      return family.flatMap(({ heads }) => pidsOf(heads));
    case "relay":
      return family.flatMap(({ relays }) => pidsOf(relays));
    case "copy":
      return family.flatMap(({ copies }) => pidsOf(copies));
    case "writer":
      return [];
  }
}

/** The processes that see a folder of the host among their mounts, however they got there. */
export function processesAt(folder: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => readOr(`/proc/${name}/mountinfo`).includes(folder))
    .filter((name) => !["Z", "X", undefined].includes(factsOf(Number(name))?.state))
    .map((name) => `${name} ${factsOf(Number(name))?.state} ${programOf(Number(name))}`);
}

/** Groups that these processes have made and nobody has removed. */
export function cgroupsOf(pids: ReadonlySet<number>): string[] {
  const own = readOr("/proc/self/cgroup").trim().split("\n");
  return own.flatMap((line) => {
    const [, controllers = "", path = ""] = line.split(":");
    const folder = join("/sys/fs/cgroup", controllers.replace("name=", ""), path);
    return namesIn(folder)
      .filter((name) => pids.has(Number(/^cellar-(\d+)/.exec(name)?.[1])))
      .map((name) => join(folder, name));
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** In how many pid namespaces it has a number. */
function depthOf(pid: number): number {
  const line = /^NSpid:\s+(.*)$/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? "";
  return line.split(/\s+/).length;
}

function programOf(pid: number): string {
  return readOr(`/proc/${pid}/cmdline`).split("\0").slice(0, 3).join(" ");
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
