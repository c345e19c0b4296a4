import type { ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import type { HostEnvironment } from "../../config/environment.js";
import { type Cgroups, prepareCgroups } from "../../isolation/cgroups/cgroups.js";
import { thisEngine } from "../../isolation/engine-wall.js";
import { executablesOn, locateBwrap } from "../../isolation/layout.js";
import { type Architecture, engineSeccompProgram } from "../../isolation/seccomp/seccomp.js";
import { sandboxIdentity } from "../host/identity.js";
import { RunFolder } from "../host/run-folder.js";
import { unavailable } from "../host/start-failure.js";
import { SessionGroup } from "./cgroup.js";
import {
  type LaunchOrder,
  launchBare,
  launchWalled,
  type Tools,
  type Walls,
} from "./launch-plan.js";
import { ProbeTargets } from "./probe.js";

/** Places of system programs, for search paths that do not name them. */
const SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";

export interface StartedProcess {
  readonly child: ChildProcess;
  readonly group: SessionGroup;
}

/** Starts processes, with walls or without. */
export class Launcher implements Disposable {
  readonly targets: ProbeTargets;
  readonly #walls: Walls | undefined;
  readonly #tools: Tools;
  readonly #cgroups: Cgroups;
  readonly #undo: (() => void)[];

  private constructor(
    targets: ProbeTargets,
    walls: Walls | undefined,
    tools: Tools,
    cgroups: Cgroups,
    undo: (() => void)[],
  ) {
    this.targets = targets;
    this.#walls = walls;
    this.#tools = tools;
    this.#cgroups = cgroups;
    this.#undo = undo;
  }

  /** Without walls where they were left out; where they cannot be had, that is an error. */
  static async prepare(hostEnvironment: HostEnvironment, wantsWalls: boolean): Promise<Launcher> {
    const path = `${hostEnvironment.path}:${SYSTEM_PATH}`;
    const bwrap = wantsWalls ? locateBwrap(hostEnvironment.path) : undefined;
    if (wantsWalls && bwrap === undefined) {
      throw unavailable("bubblewrap is not installed", "bwrap-missing");
    }
    const isRoot = wantsWalls && process.getuid?.() === 0;
    const identity = isRoot ? sandboxIdentity() : undefined;
    if (isRoot && identity === undefined) {
      throw unavailable("root has no other user id to switch to in this user namespace", "one-id");
    }
    const folder = new RunFolder(hostEnvironment.temporary, identity);
    const undo = [() => folder[Symbol.dispose]()];
    try {
      const targets = await ProbeTargets.create(folder.path);
      undo.push(() => targets[Symbol.dispose]());
      const owner = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
      const name = `cellar-${process.pid}-${folder.suffix}`;
      const cgroups = wantsWalls
        ? prepareCgroups({ ...owner, name })
        : ({ version: undefined, missing: "a process without isolation", remedy: "" } as const);
      if (cgroups.version !== undefined) undo.push(() => cgroups.dispose());
      const walls: Walls | undefined =
        bwrap === undefined
          ? undefined
          : {
              bwrap,
              engine: thisEngine(),
              seccomp: engineSeccompProgram(architecture()),
              identity,
              setpriv: executablesOn(path, "setpriv")[0],
              place: placesIn(folder),
            };
      const [prlimit, chrt] = ["prlimit", "chrt"].map((name) => executablesOn(path, name)[0]);
      const tools = { prlimit, chrt };
      return new Launcher(targets, walls, tools, cgroups, undo);
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    }
  }

  get isWalled(): boolean {
    return this.#walls !== undefined;
  }

  start(order: LaunchOrder, session: string): StartedProcess {
    const group = new SessionGroup(this.#cgroups, session, order.limits);
    const child =
      this.#walls === undefined
        ? launchBare(order, this.#tools)
        : launchWalled(order, this.#walls, this.#tools, (pid) => group.admit(pid));
    return { child, group };
  }

  [Symbol.dispose](): void {
    for (const step of this.#undo.splice(0).reverse()) step();
  }
}

function placesIn(folder: RunFolder): (host: string) => string {
  const known = new Map<string, string>();
  return (host) => {
    const place = known.get(host) ?? folder.place(known.size, statSync(host).isDirectory());
    known.set(host, place);
    return place;
  };
}

function architecture(): Architecture {
  if (process.arch === "x64" || process.arch === "arm64") return process.arch;
  throw unavailable(`there is no system call filter for ${process.arch}`, "platform");
}
