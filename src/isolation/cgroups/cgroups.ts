import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { remedyFor } from "../remedies.js";
import { locateHierarchies } from "./hierarchies.js";

export interface CgroupOptions {
  /** The user inside the wall, which makes a group for each session. */
  uid: number;
  gid: number;
  /** `cellar-<pid>`, or with a suffix when one process holds several. */
  name: string;
  /** Where the kernel describes this process. */
  processFolder?: string | undefined;
  /** Whom the group has for a member that must make way; default this process. */
  member?: number | undefined;
}

interface Delegation {
  /** Removes the groups that were made, as far as they are empty, and closes the descriptors. */
  dispose(): void;
}

export interface SplitCgroups extends Delegation {
  version: 1;
  directories: { memory: string; pids: string; cpu?: string };
  /** Open folders to hand to the zygote, which cannot see the hierarchy. */
  descriptors: { memory: number; pids: number; cpu?: number };
}

export interface UnifiedCgroups extends Delegation {
  version: 2;
  directories: { unified: string };
  descriptors: { unified: number };
  /** The launcher writes itself here: only from inside may an ordinary user move processes. */
  zygoteProcesses: string;
}

export interface NoCgroups {
  version: undefined;
  missing: string;
  remedy: string;
}

export type Cgroups = SplitCgroups | UnifiedCgroups | NoCgroups;

const CONTROLLERS = ["memory", "pids"] as const;
const DELEGATED_FILES = ["cgroup.procs", "cgroup.threads", "cgroup.subtree_control"];
const ZYGOTE_GROUP = "zygote";
const OUR_GROUP = /^cellar-(\d+)(?:-[\w-]+)?$/;
const HOST_GROUP = /^cellar-\d+-host$/;

/** Makes a group under this process's own in which the zygote may limit each session. */
export function prepareCgroups(options: CgroupOptions): Cgroups {
  try {
    const places = locateHierarchies(options.processFolder ?? "/proc/self");
    if (places.memory !== undefined && places.pids !== undefined) {
      return prepareSplit(places.memory, places.pids, places.cpu, options);
    }
    if (places.unified !== undefined) {
      return prepareUnified(places.unified, options);
    }
    return none("no cgroup hierarchy offers both memory and pids");
  } catch (error) {
    return none(failureText(error));
  }
}

function prepareSplit(
  memory: string,
  pids: string,
  cpu: string | undefined,
  options: CgroupOptions,
): SplitCgroups {
  const undo = new Undo();
  try {
    const open = (own: string) => {
      sweep(own);
      const folder = makeGroup(join(own, options.name), undo);
      delegate(folder, options);
      return { folder, descriptor: openFolder(folder, undo) };
    };
    const [memoryGroup, pidsGroup] = [open(memory), open(pids)];
    const cpuGroup = cpu === undefined ? undefined : open(cpu);
    if (cpuGroup !== undefined) shareProcessors(cpuGroup.folder);
    return {
      version: 1,
      directories: {
        memory: memoryGroup.folder,
        pids: pidsGroup.folder,
        ...(cpuGroup && { cpu: cpuGroup.folder }),
      },
      descriptors: {
        memory: memoryGroup.descriptor,
        pids: pidsGroup.descriptor,
        ...(cpuGroup && { cpu: cpuGroup.descriptor }),
      },
      dispose: () => undo.run(),
    };
  } catch (error) {
    undo.run();
    throw error;
  }
}

function prepareUnified(own: string, options: CgroupOptions): UnifiedCgroups | NoCgroups {
  const parent = HOST_GROUP.test(basename(own)) ? dirname(own) : own;
  const offered = words(readFileSync(join(parent, "cgroup.controllers"), "utf8"));
  const lacking = CONTROLLERS.filter((controller) => !offered.includes(controller));
  if (lacking.length > 0) {
    return none(`this process's cgroup is not given the controllers ${lacking.join(" and ")}`);
  }
  const undo = new Undo();
  try {
    sweep(parent);
    const leaf = join(parent, `cellar-${process.pid}-host`);
    enableControllers(parent, leaf, offered, options.member ?? process.pid);
    const folder = makeGroup(join(parent, options.name), undo);
    const zygote = makeGroup(join(folder, ZYGOTE_GROUP), undo);
    writeFileSync(join(folder, "cgroup.subtree_control"), enabling(offered));
    delegate(folder, options);
    delegate(zygote, options);
    return {
      version: 2,
      directories: { unified: folder },
      descriptors: { unified: openFolder(folder, undo) },
      zygoteProcesses: join(zygote, "cgroup.procs"),
      dispose: () => undo.run(),
    };
  } catch (error) {
    undo.run();
    throw error;
  }
}

/** All sessions together weigh as much as one busy process of the host on each processor. */
function shareProcessors(folder: string): void {
  const shares = join(folder, "cpu.shares");
  if (existsSync(shares)) writeFileSync(shares, String(1024 * availableParallelism()));
}

/** A group with processes of its own cannot divide its controllers, so this one moves to a leaf. */
function enableControllers(
  parent: string,
  leaf: string,
  offered: readonly string[],
  member: number,
): void {
  const control = join(parent, "cgroup.subtree_control");
  const enabled = words(readFileSync(control, "utf8"));
  if (CONTROLLERS.every((controller) => enabled.includes(controller))) {
    return;
  }
  try {
    writeFileSync(control, enabling(offered));
  } catch (error) {
    if (errorCode(error) !== "EBUSY") {
      throw error;
    }
    moveToLeaf(parent, leaf, member, () => writeFileSync(control, enabling(offered)));
  }
}

function moveToLeaf(parent: string, leaf: string, member: number, divide: () => void): void {
  const move = (group: string) => writeFileSync(join(group, "cgroup.procs"), String(member));
  mkdirSync(leaf, { recursive: true });
  move(leaf);
  try {
    divide();
  } catch (error) {
    move(parent);
    removeGroup(leaf);
    throw error;
  }
}

/** Divides the processor by groups too, where the machine allows it. */
function enabling(offered: readonly string[]): string {
  const wanted = offered.includes("cpu") ? [...CONTROLLERS, "cpu"] : CONTROLLERS;
  return wanted.map((controller) => `+${controller}`).join(" ");
}

function makeGroup(folder: string, undo: Undo): string {
  mkdirSync(folder, { recursive: true });
  undo.add(() => removeGroup(folder));
  return folder;
}

function delegate(folder: string, { uid, gid }: CgroupOptions): void {
  chownSync(folder, uid, gid);
  for (const file of DELEGATED_FILES) {
    const path = join(folder, file);
    if (existsSync(path)) {
      chownSync(path, uid, gid);
    }
  }
}

function openFolder(folder: string, undo: Undo): number {
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  undo.add(() => closeSync(descriptor));
  return descriptor;
}

/** Removes what hosts that are gone have left; the kernel keeps groups that still have members. */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = OUR_GROUP.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) {
      removeGroup(join(parent, name));
    }
  }
}

/** Removes session groups, which are one level deep; one with members stays for a later sweep. */
function removeGroup(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) {
        removeGroup(join(folder, entry.name));
      }
    }
    rmdirSync(folder);
  } catch (error) {
    if (!["ENOENT", "EBUSY", "ENOTEMPTY", "EACCES", "EPERM"].includes(errorCode(error))) {
      throw error;
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

class Undo {
  private steps: (() => void)[] = [];

  add(step: () => void): void {
    this.steps.push(step);
  }

  run(): void {
    for (const step of this.steps.splice(0).reverse()) {
      step();
    }
  }
}

function none(missing: string): NoCgroups {
  return { version: undefined, missing, remedy: remedyFor("cgroups") };
}

function failureText(error: unknown): string {
  switch (errorCode(error)) {
    case "EROFS":
      return "the cgroup file system is read-only";
    case "EACCES":
    case "EPERM":
      return "this user may not make cgroups here";
    case "EBUSY":
      return "other processes share this process's cgroup, so it cannot be divided";
    case "ENOENT":
      return "the cgroup file system is not where the kernel says";
    default:
      return `cgroups cannot be set up: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
