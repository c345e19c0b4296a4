import { existsSync, readFileSync } from "node:fs";
import type { HostRestrictions } from "../../isolation/remedies.js";

/** What may explain a failed wall on this machine. */
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

/** Index of the scheduling policy in the fields of `stat` after the program's name. */
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
