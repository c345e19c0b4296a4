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

/** Processor time of a process, its descendants, and of those that were waited for, in ms. */
export function processTreeTime(root) {
  const ticks = processTree(root)
    .flatMap((pid) => fieldsOf(pid).slice(...OWN_AND_WAITED_FOR))
    .reduce((sum, field) => sum + Number(field), 0);
  return ticks * TICK_MS;
}

/** utime, stime, cutime and cstime among the fields after the name. */
const OWN_AND_WAITED_FOR = [11, 15];
/** The kernel tells processes 100 a second, whatever its own clock is. */
const TICK_MS = 10;

function processes() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid) {
  return Number(fieldsOf(pid)[1] ?? 0);
}

/** Of /proc/PID/stat, from the state on: the name before it may contain blanks. */
function fieldsOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Empty for a process that has ended or cannot be read. */
function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
