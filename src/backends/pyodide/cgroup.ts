import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cgroups } from "../../isolation/cgroups/cgroups.js";
import type { Finding, ProbeFacts } from "../../isolation/levels.js";
import { remedyFor } from "../../isolation/remedies.js";
import type { Limits } from "../../protocol/messages.js";
import { ENGINE_MB } from "./launch-plan.js";

const MEBIBYTE = 1024 * 1024;
/** Threads that the engine itself may have. */
const ENGINE_THREADS = 64;

/** The control groups of one session, if the host has them. */
export class SessionGroup implements Disposable {
  readonly #cgroups: Cgroups;
  readonly #folders: { readonly memory: string; readonly pids: string } | undefined;

  constructor(cgroups: Cgroups, session: string, limits: Limits) {
    this.#cgroups = cgroups;
    if (cgroups.version === undefined) return;
    const { memory, pids } =
      cgroups.version === 1
        ? cgroups.directories
        : { memory: cgroups.directories.unified, pids: cgroups.directories.unified };
    const folders = { memory: join(memory, session), pids: join(pids, session) };
    this.#folders = folders;
    for (const folder of new Set(Object.values(folders))) mkdirSync(folder, { recursive: true });
    const bytes = String((limits.memory_mb + ENGINE_MB) * MEBIBYTE);
    if (cgroups.version === 1) {
      writeFileSync(join(folders.memory, "memory.limit_in_bytes"), bytes);
      writeIfThere(join(folders.memory, "memory.memsw.limit_in_bytes"), bytes);
    } else {
      writeFileSync(join(folders.memory, "memory.max"), bytes);
      writeIfThere(join(folders.memory, "memory.swap.max"), "0");
    }
    writeFileSync(join(folders.pids, "pids.max"), String(limits.processes + ENGINE_THREADS));
  }

  /** Before the process starts others. */
  admit(pid: number): void {
    for (const folder of new Set(Object.values(this.#folders ?? {}))) {
      writeFileSync(join(folder, "cgroup.procs"), String(pid));
    }
  }

  /** Whether the kernel has ended a process of this group for its memory. */
  get wasOutOfMemory(): boolean {
    const folder = this.#folders?.memory;
    if (folder === undefined) return false;
    const file = this.#cgroups.version === 1 ? "memory.oom_control" : "memory.events";
    return Number(/^oom_kill (\d+)$/m.exec(read(join(folder, file)))?.[1] ?? 0) > 0;
  }

  facts(): ProbeFacts {
    if (this.#cgroups.version === undefined || this.#folders === undefined) {
      const { missing, remedy } = this.#cgroups as { missing: string; remedy: string };
      const none = { ok: false, detail: missing, fix: remedy };
      return { "cgroup.memory": none, "cgroup.pids": none };
    }
    const holds = (folder: string): Finding =>
      read(join(folder, "cgroup.procs")).trim() !== ""
        ? { ok: true, detail: `cgroup v${this.#cgroups.version}, one group per session` }
        : { ok: false, detail: "the session is not in its group", fix: remedyFor("cgroups") };
    return {
      "cgroup.memory": holds(this.#folders.memory),
      "cgroup.pids": holds(this.#folders.pids),
    };
  }

  [Symbol.dispose](): void {
    for (const folder of new Set(Object.values(this.#folders ?? {}))) {
      try {
        rmdirSync(folder);
      } catch {
        // The kernel keeps it a moment longer; the next start of a host removes it.
      }
    }
  }
}

function writeIfThere(path: string, text: string): void {
  if (existsSync(path)) writeFileSync(path, text);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
