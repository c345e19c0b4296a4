import { mkdtempSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";
import { locateHierarchies } from "../dist/isolation/cgroups/hierarchies.js";
import { processTree, processTreeTime } from "./process-tree.mjs";

/** The group that Cellar made for one zygote, where its groups are of version 2. */
const ZYGOTES_GROUP = /^.*\/cellar-\d+-(?!host(?:\/|$))[^/]*/;
const TRIES = 50;
const RETRY_MS = 20;
/** How long what cells leave to do may take, such as their checkpoint. */
const SETTLE_MS = 50;

/** The processor time of a zygote's whole process tree: by its control group, else by /proc. */
export function processorTime(pid) {
  const root = unifiedRoot();
  if (root === undefined) return new ByProcesses(pid);
  const zygotes = ZYGOTES_GROUP.exec(unifiedPath(pid))?.[0];
  if (zygotes !== undefined) return new ByOwnGroup(join(root, zygotes));
  try {
    return new ByGroup(pid, join(root, unifiedPath("self")));
  } catch {
    return new ByProcesses(pid);
  }
}

/** Cellar's own group. */
class ByOwnGroup {
  name = "Cellar's control group";
  isComplete = true;
  #folder;

  constructor(folder) {
    this.#folder = folder;
  }

  milliseconds() {
    return groupTime(this.#folder);
  }

  [Symbol.dispose]() {}
}

/** A group for the measurement: it counts what has ended, whoever waited for it, in microseconds. */
class ByGroup {
  name = "a control group";
  isComplete = true;
  #folder;

  constructor(pid, parent) {
    const folder = mkdtempSync(join(parent, "cellar-bench-"));
    this.#folder = folder;
    try {
      groupTime(folder);
      // What was started meanwhile by one that had not yet moved, moves in the next pass.
      for (let pass = 0; pass < 3; pass += 1) move(processTree(pid), folder);
      if (!members(folder).includes(pid)) throw new Error("the zygote did not move");
    } catch (error) {
      move(members(folder), parent);
      rmdirSync(folder);
      throw error;
    }
  }

  milliseconds() {
    return groupTime(this.#folder);
  }

  async [Symbol.asyncDispose]() {
    for (let tries = 0; tries < TRIES; tries += 1) {
      move(members(this.#folder), dirname(this.#folder));
      try {
        rmdirSync(this.#folder);
        return;
      } catch (error) {
        if (error.code !== "EBUSY") throw error;
        await rest(RETRY_MS);
      }
    }
  }
}

/** In steps of 10 ms per process; the kernel waits for nobody when it ends a whole session. */
export class ByProcesses {
  name = "/proc, in steps of 10 ms";
  isComplete = false;
  #pid;

  constructor(pid) {
    this.#pid = pid;
  }

  milliseconds() {
    return processTreeTime(this.#pid);
  }

  [Symbol.dispose]() {}
}

/** Processor time per operation, of this process and of the sessions, in batches of them. */
export class Meter {
  #sessions;
  #settle;
  #batches = [];

  constructor(sessions, { settle = SETTLE_MS } = {}) {
    this.#sessions = sessions;
    this.#settle = settle;
  }

  /** Runs a batch and returns its samples, one for each operation. */
  async around(batch) {
    const sessions = this.#sessions.milliseconds();
    const host = process.cpuUsage();
    const samples = await batch();
    // What the last operations left to do is theirs.
    await rest(this.#settle);
    const { user, system } = process.cpuUsage(host);
    this.#batches.push({
      host: (user + system) / 1000,
      sessions: this.#sessions.milliseconds() - sessions,
      operations: samples.length,
    });
    return samples;
  }

  /** As the rows of a report have it, without the batches that warmed up. */
  cpu(warmups) {
    const counted = this.#batches.slice(warmups);
    const sum = (of) => counted.reduce((total, batch) => total + of(batch), 0);
    const operations = sum((batch) => batch.operations);
    return {
      host: sum(({ host }) => host) / operations,
      session: sum(({ sessions }) => sessions) / operations,
    };
  }

  /** The sessions' part of each batch, per operation. */
  sessionTimes(warmups) {
    return this.#batches.slice(warmups).map(({ sessions, operations }) => sessions / operations);
  }
}

function groupTime(folder) {
  const found = /^usage_usec (\d+)$/m.exec(readFileSync(join(folder, "cpu.stat"), "utf8"));
  if (found === null) throw new Error(`${folder} counts no processor time`);
  return Number(found[1]) / 1000;
}

function members(folder) {
  return readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
}

/** Those that have ended meanwhile need not move. */
function move(pids, folder) {
  for (const pid of pids) {
    try {
      writeFileSync(join(folder, "cgroup.procs"), String(pid));
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

/** Where the hierarchy of version 2 is mounted, which may have no controllers. */
function unifiedRoot() {
  const own = locateHierarchies("/proc/self").unified;
  return own?.slice(0, own.length - unifiedPath("self").replace(/\/$/, "").length);
}

function unifiedPath(pid) {
  return /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? "/";
}
