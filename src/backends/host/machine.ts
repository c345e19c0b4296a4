import { existsSync, readFileSync } from "node:fs";
import type { HostRestrictions } from "../../isolation/remedies.js";

/** What the machine tells about itself that explains a failed wall. */
export function machine(): HostRestrictions {
  return {
    inContainer:
      existsSync("/.dockerenv") ||
      existsSync("/run/.containerenv") ||
      /docker|kubepods|containerd|lxc/.test(read("/proc/1/cgroup")),
    appArmorRestricts: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1",
    namespacesDisabled:
      read("/proc/sys/kernel/unprivileged_userns_clone") === "0" ||
      read("/proc/sys/user/max_user_namespaces") === "0",
    isRealTime: isRealTime(),
  };
}

/** Where the kernel tells the policy among what follows a program's name in `stat`. */
const POLICY_FIELD = 38;
const REAL_TIME_POLICIES: readonly (string | undefined)[] = ["1", "2", "6"];

/** Whether this process comes before all others: SCHED_FIFO, SCHED_RR or SCHED_DEADLINE. */
export function isRealTime(stat = read("/proc/self/stat")): boolean {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return REAL_TIME_POLICIES.includes(fields[POLICY_FIELD]);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
