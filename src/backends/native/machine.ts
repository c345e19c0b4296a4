import { existsSync, readFileSync } from "node:fs";
import type { Surroundings } from "../../isolation/remedies.js";

/** What the machine tells about itself that explains a failed wall. */
export function machine(): Surroundings {
  return {
    inContainer:
      existsSync("/.dockerenv") ||
      existsSync("/run/.containerenv") ||
      /docker|kubepods|containerd|lxc/.test(read("/proc/1/cgroup")),
    appArmorRestricts: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1",
    namespacesDisabled:
      read("/proc/sys/kernel/unprivileged_userns_clone") === "0" ||
      read("/proc/sys/user/max_user_namespaces") === "0",
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
