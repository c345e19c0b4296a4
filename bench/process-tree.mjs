import { readdirSync, readFileSync } from "node:fs";

/** A process and all its descendants. */
export function processTree(root) {
  const children = new Map();
  for (const pid of processes()) {
    const parent = parentOf(pid);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const descend = (pid) => [pid, ...(children.get(pid) ?? []).flatMap(descend)];
  return descend(root);
}

/** Proportional set size of these processes in MB, and how many cannot be read. */
export function proportionalMemory(pids) {
  let kilobytes = 0;
  let unreadable = 0;
  for (const pid of pids) {
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    const found = /^Pss:\s+(\d+) kB/m.exec(rollup);
    if (found === null) unreadable += 1;
    else kilobytes += Number(found[1]);
  }
  return { megabytes: kilobytes / 1024, unreadable };
}

function processes() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
}

/** Empty for a process that has ended or cannot be read. */
function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
