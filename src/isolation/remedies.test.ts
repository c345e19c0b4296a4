import { describe, expect, it } from "vitest";
import { type Cause, diagnose, remedyFor, type Surroundings } from "./remedies.js";

const PLAIN: Surroundings = {
  inContainer: false,
  appArmorRestricts: false,
  namespacesDisabled: false,
};

describe("the cause of a failed bwrap", () => {
  it.each<[string, Partial<Surroundings>, Cause | undefined]>([
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
    ["bwrap: setting up uid map", { namespacesDisabled: true }, undefined],
    [
      "bwrap: setting up uid map: Permission denied",
      { namespacesDisabled: true },
      "user-namespaces-off",
    ],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {}, "container-proc"],
    ["bwrap: Unknown option --disable-userns", {}, "bwrap-too-old"],
    ["Traceback: something else", {}, undefined],
    ["", { inContainer: true }, undefined],
  ])("%s %o", (stderr, surroundings, cause) => {
    expect(diagnose(stderr, { ...PLAIN, ...surroundings })).toBe(cause);
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
    ["python", "3.8"],
  ])("for %s name %s", (cause, words) => {
    expect(remedyFor(cause)).toContain(words);
  });
});
