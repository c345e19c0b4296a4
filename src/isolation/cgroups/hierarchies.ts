import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The folders of the groups that this process is in. */
export interface Hierarchies {
  memory: string | undefined;
  pids: string | undefined;
  cpu: string | undefined;
  unified: string | undefined;
}

interface MountPoint {
  /** The part of the hierarchy that is mounted. */
  root: string;
  folder: string;
  type: string;
  options: readonly string[];
}

/** Finds this process's groups in the mounted cgroup hierarchies of both versions. */
export function locateHierarchies(processFolder: string): Hierarchies {
  const mounts = mountPoints(readFileSync(join(processFolder, "mountinfo"), "utf8"));
  const groups = memberships(readFileSync(join(processFolder, "cgroup"), "utf8"));
  const split = (controller: string) =>
    groupFolder(
      mounts.find(({ type, options }) => type === "cgroup" && options.includes(controller)),
      groups.get(controller),
    );
  return {
    memory: split("memory"),
    pids: split("pids"),
    cpu: split("cpu"),
    unified: groupFolder(
      mounts.find(({ type }) => type === "cgroup2"),
      groups.get(""),
    ),
  };
}

/** Lines such as `36 25 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids`. */
function mountPoints(text: string): MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after] = line.split(" - ");
    const [, , , root, folder] = before.split(" ");
    const [type, , options] = (after ?? "").split(" ");
    if (root === undefined || folder === undefined || type === undefined) {
      return [];
    }
    return [
      { root: unquote(root), folder: unquote(folder), type, options: options?.split(",") ?? [] },
    ];
  });
}

/** Lines such as `8:pids:/path`, or `0::/path` for version 2, keyed by controller. */
function memberships(text: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, controllers, ...path] = line.split(":");
    for (const controller of controllers?.split(",") ?? []) {
      groups.set(controller, path.join(":"));
    }
  }
  return groups;
}

function groupFolder(mount: MountPoint | undefined, group: string | undefined): string | undefined {
  if (mount === undefined || group === undefined) {
    return undefined;
  }
  const root = mount.root === "/" ? "" : mount.root;
  const inside = group === root || group.startsWith(`${root}/`);
  return inside ? join(mount.folder, group.slice(root.length)) : undefined;
}

/** The kernel writes blanks and backslashes in paths as octal. */
function unquote(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
