import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  adviceToLower,
  type Cause,
  diagnose,
  type HostRestrictions,
  ISOLATION_CAUSES,
  isolationCause,
  OTHER_CAUSES,
  remedyFor,
} from "./remedies.js";

const PLAIN: HostRestrictions = {
  inContainer: false,
  appArmorRestricts: false,
  namespacesDisabled: false,
  isRealTime: false,
};
/** What nobody may be told who has another trouble. */
const LESS_ISOLATION = /minIsolation|min-isolation|MIN_ISOLATION|without (walls|a sandbox)|L[01]\b/;

describe("the cause of a failed start", () => {
  it.each<[string, Partial<HostRestrictions>, Cause]>([
    ["bwrap: No permissions to create new namespace, likely because", {}, "user-namespaces-off"],
    ["bwrap: No permissions to create a new namespace", {}, "user-namespaces-off"],
    ["bwrap: Creating new namespace failed: Operation not permitted", {}, "user-namespaces-off"],
    ["bwrap: Creating new namespace failed", { inContainer: true }, "container-seccomp"],
    ["bwrap: Creating new namespace failed", { appArmorRestricts: true }, "apparmor"],
    ["bwrap: setting up uid map: Permission denied", {}, "apparmor"],
    ["bwrap: setting up uid map: Permission denied", { inContainer: true }, "container-seccomp"],
    [
      "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
      { appArmorRestricts: true, inContainer: true },
      "apparmor",
    ],
    ["bwrap: setting up uid map", { namespacesDisabled: true }, "unknown"],
    [
      "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
      { inContainer: true },
      "namespace-limit",
    ],
    ["the session could not be prepared: unshare: No space left on device", {}, "namespace-limit"],
    [
      "bwrap: setting up uid map: Permission denied",
      { namespacesDisabled: true },
      "user-namespaces-off",
    ],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {}, "container-proc"],
    ["bwrap: Unknown option --disable-userns", {}, "bwrap-too-old"],
    ["ENOENT: no such file or directory, stat '/app/python/cellar_runner'", {}, "own-files"],
    ["bwrap: Can't find source path /app/python/cellar_runner: No such file", {}, "own-files"],
    ["ENOSPC: no space left on device, write", {}, "no-space"],
    ["EDQUOT: disk quota exceeded, write", {}, "no-space"],
    ["EROFS: read-only file system, mkdir '/tmp/cellar-1-abcdef'", {}, "read-only"],
    ["EACCES: permission denied, mkdir '/tmp/cellar-1-abcdef'", {}, "no-permission"],
    [
      "bwrap: Can't find source path /root/t/cellar-18519-HocpEU/bound-1: Permission denied",
      {},
      "temporary-hidden",
    ],
    ["spawn /usr/bin/bwrap EACCES", {}, "no-permission"],
    ["spawn /usr/bin/bwrap EMFILE", {}, "too-many-files"],
    ["spawn /usr/bin/bwrap EAGAIN", {}, "too-many-processes"],
    ["spawn /usr/bin/bwrap ENOENT", {}, "unknown"],
    ["bwrap: Can't fork: Resource temporarily unavailable", {}, "too-many-processes"],
    ["spawn ENOMEM", {}, "out-of-memory"],
    ["the session could not be prepared: cgroup.procs: Invalid argument", {}, "unknown"],
    [
      "the session could not be prepared: cgroup.procs: Invalid argument",
      { isRealTime: true },
      "real-time",
    ],
    ["Traceback: something else", {}, "unknown"],
    ["", { inContainer: true }, "unknown"],
  ])("%s %o", (said, restrictions, cause) => {
    const about = isolationCause(cause) === undefined ? "something else" : "isolation";
    expect(diagnose(said, { ...PLAIN, ...restrictions })).toEqual({ about, cause });
  });
});

describe("remedies", () => {
  it.each([
    ['NAME="Debian"\nID=debian\n', "apt-get install bubblewrap"],
    ['ID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt-get install bubblewrap"],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install bubblewrap"],
    ["ID=arch\n", "pacman -S bubblewrap"],
    ["ID=alpine\n", "apk add bubblewrap"],
    ["", "package manager"],
  ])("name the install command of the distribution %j", (osRelease, command) => {
    expect(remedyFor("bwrap-missing", osRelease)).toContain(command);
    expect(remedyFor("bwrap-too-old", osRelease)).toContain(command);
  });

  it("open AppArmor for bwrap alone, not for every program", () => {
    expect(remedyFor("apparmor")).toContain("profile bwrap /usr/bin/bwrap");
    expect(remedyFor("apparmor")).not.toContain("sysctl");
  });

  it.each<[Cause, string]>([
    ["user-namespaces-off", "user.max_user_namespaces"],
    ["user-namespaces-off", "kernel.unprivileged_userns_clone"],
    ["container-seccomp", "--security-opt seccomp="],
    ["container-proc", "--security-opt systempaths=unconfined"],
    ["one-id", "/etc/subuid"],
    ["cgroups", "systemd-run --user --scope -p Delegate=yes"],
    ["namespace-limit", "user.max_user_namespaces"],
    ["python", "3.8"],
    ["own-files", "external"],
    ["no-space", "TMPDIR"],
    ["read-only", "TMPDIR"],
    ["too-many-files", "ulimit -n"],
    ["real-time", "chrt --other 0"],
    ["unknown", "cellar doctor"],
  ])("for %s name %s", (cause, words) => {
    expect(remedyFor(cause)).toContain(words);
  });

  it.each([...OTHER_CAUSES])("never take isolation away for %s", (cause) => {
    expect(isolationCause(cause)).toBeUndefined();
    expect(remedyFor(cause, "ID=debian\n")).not.toMatch(LESS_ISOLATION);
  });

  it("are the only place of the advice to lower the isolation, but for a shared network", () => {
    const root = new URL("../", import.meta.url);
    const files = readdirSync(root, { recursive: true, encoding: "utf8" });
    const advising = files
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .filter((name) =>
        /lower (the option )?minIsolation/i.test(readFileSync(new URL(name, root), "utf8")),
      );
    expect(advising.sort()).toEqual(["backends/native/wall/probe.ts", "isolation/remedies.ts"]);
  });

  it.each([...ISOLATION_CAUSES])("name the real fix for %s first", (cause) => {
    expect(remedyFor(cause)).not.toMatch(/minIsolation/);
    expect(adviceToLower(cause, "L1")).toContain('minIsolation to "L1"');
  });
});
