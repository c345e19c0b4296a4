import { writeFileSync } from "node:fs";
import {
  type Cgroups,
  prepareCgroups,
  type UnifiedCgroups,
} from "../../../isolation/cgroups/cgroups.js";
import { isInScope, type UserManager, userScope } from "../../../isolation/cgroups/user-scope.js";
import type { Params } from "../../../protocol/messages.js";
import type { Identity } from "../../host/run-folder.js";
import { startWall, type Wall, type WallPlan } from "./wall.js";

export interface GroupedWall {
  readonly wall: Wall;
  readonly cgroups: Cgroups;
  /** The zygote's groups, as the boot message names them. */
  readonly group: Params<"boot">["group"];
}

export type UngroupedPlan = Omit<
  WallPlan,
  "groupDescriptors" | "groupProcesses" | "cgroupNamespace" | "scope"
>;

export interface GroupOptions {
  /** The user that makes the groups of sessions. */
  readonly owner: Identity;
  readonly path: string;
  readonly userManager: UserManager;
}

/** Starts a wall whose sessions can have control groups, where this machine lets them. */
export async function startGroupedWall(
  plan: UngroupedPlan,
  { owner, path, userManager }: GroupOptions,
): Promise<GroupedWall> {
  const name = `cellar-${process.pid}-${plan.folder.suffix}`;
  const cgroups = prepareCgroups({ ...owner, name });
  if (cgroups.version === undefined && plan.identity === undefined) {
    const scope = userScope(name, path, userManager);
    const scoped = scope && (await startInScope(plan, owner, name, scope));
    if (scoped !== undefined) return scoped;
  }
  try {
    const wall = startWall({
      ...plan,
      groupDescriptors: cgroups.version === undefined ? [] : Object.values(cgroups.descriptors),
      groupProcesses: cgroups.version === 2 ? cgroups.zygoteProcesses : undefined,
      cgroupNamespace: cgroups.version !== 2,
    });
    return { wall, cgroups, group: groupMessage(cgroups, wall.groupNumbers) };
  } catch (error) {
    if (cgroups.version !== undefined) cgroups.dispose();
    throw error;
  }
}

/** An ordinary user may not move processes into a scope, so the wall is started in it. */
async function startInScope(
  plan: UngroupedPlan,
  owner: Identity,
  name: string,
  scope: NonNullable<ReturnType<typeof userScope>>,
): Promise<GroupedWall | undefined> {
  const none = { groupDescriptors: [], groupProcesses: undefined, cgroupNamespace: false };
  const wall = startWall({ ...plan, ...none, scope });
  const { process: child, groupNumbers } = wall;
  const cgroups = await enterScope(scope, child.pid ?? 0, owner, name, () => hasEnded(wall));
  if (cgroups === undefined) {
    child.kill("SIGKILL");
    return undefined;
  }
  wall.tellScope(cgroups.directories.unified);
  return { wall, cgroups, group: { version: 2, unified_fd: groupNumbers[0] ?? 0 } };
}

/** Divides the scope that a process has been put in, and moves it to its place there. */
export async function enterScope(
  scope: NonNullable<ReturnType<typeof userScope>>,
  pid: number,
  owner: Identity,
  name: string,
  hasEnded: () => boolean,
  processFolder = `/proc/${pid}`,
): Promise<UnifiedCgroups | undefined> {
  if (!(await isInScope(scope, processFolder, hasEnded))) return undefined;
  const cgroups = prepareCgroups({ ...owner, name, processFolder, member: pid });
  if (cgroups.version !== 2) {
    if (cgroups.version === 1) cgroups.dispose();
    return undefined;
  }
  try {
    writeFileSync(cgroups.zygoteProcesses, String(pid));
  } catch {
    cgroups.dispose();
    return undefined;
  }
  return cgroups;
}

function hasEnded({ process: child }: Wall): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function groupMessage(cgroups: Cgroups, numbers: readonly number[]): GroupedWall["group"] {
  const [first = 0, second = 0, third] = numbers;
  switch (cgroups.version) {
    case 1:
      return {
        version: 1,
        memory_fd: first,
        pids_fd: second,
        ...(third !== undefined && { cpu_fd: third }),
      };
    case 2:
      return { version: 2, unified_fd: first };
    case undefined:
      return null;
  }
}
