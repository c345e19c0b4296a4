/** What can stand between a machine and its sandbox. */
export type Cause =
  | "bwrap-missing"
  | "bwrap-too-old"
  | "user-namespaces-off"
  | "apparmor"
  | "container-seccomp"
  | "container-proc"
  | "one-id"
  | "cgroups"
  | "python";

/** What the machine told about itself, where it did. */
export interface Surroundings {
  inContainer: boolean;
  /** `kernel.apparmor_restrict_unprivileged_userns` is 1. */
  appArmorRestricts: boolean;
  /** `kernel.unprivileged_userns_clone` is 0, or `user.max_user_namespaces` is 0. */
  namespacesDisabled: boolean;
}

const APPARMOR_PROFILE = `abi <abi/4.0>,
include <tunables/global>

profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/bwrap>
}
`;

const INSTALL_BY_DISTRIBUTION: readonly (readonly [ids: readonly string[], command: string])[] = [
  [["debian", "ubuntu"], "sudo apt-get install bubblewrap"],
  [["fedora", "rhel", "centos"], "sudo dnf install bubblewrap"],
  [["arch"], "sudo pacman -S bubblewrap"],
  [["alpine"], "sudo apk add bubblewrap"],
  [["opensuse", "suse"], "sudo zypper install bubblewrap"],
  [["nixos"], "nix-env -iA nixos.bubblewrap"],
];

/** bwrap's own words, and what lies behind them where nothing else is known. */
const MESSAGES: readonly (readonly [pattern: RegExp, cause: Cause])[] = [
  [/setting up uid map: Permission denied/i, "apparmor"],
  [/loopback: Failed RTM_NEWADDR/i, "apparmor"],
  [/Can't mount proc on/i, "container-proc"],
  [/No permissions to create (a )?new namespace/i, "user-namespaces-off"],
  [/Creating new namespace failed/i, "user-namespaces-off"],
  [/Unknown option/i, "bwrap-too-old"],
];

/** The likely cause of a failed bwrap, from what it wrote and what is known of the machine. */
export function diagnose(stderr: string, surroundings: Surroundings): Cause | undefined {
  const cause = MESSAGES.find(([pattern]) => pattern.test(stderr))?.[1];
  if (cause !== "user-namespaces-off" && cause !== "apparmor") {
    return cause;
  }
  if (surroundings.namespacesDisabled) {
    return "user-namespaces-off";
  }
  if (surroundings.appArmorRestricts) {
    return "apparmor";
  }
  return surroundings.inContainer ? "container-seccomp" : cause;
}

/** What to do about a cause. `osRelease` is the text of `/etc/os-release`. */
export function remedyFor(cause: Cause, osRelease = ""): string {
  switch (cause) {
    case "bwrap-missing":
      return `Install bubblewrap: ${installCommand(osRelease)}.`;
    case "bwrap-too-old":
      return `Install bubblewrap 0.8.0 or newer: ${installCommand(osRelease)}.`;
    case "user-namespaces-off":
      return [
        "Let ordinary users make user namespaces:",
        "sudo sysctl -w user.max_user_namespaces=15000",
        "and, where that setting exists, sudo sysctl -w kernel.unprivileged_userns_clone=1",
        "(keep them in /etc/sysctl.d/ to survive a restart).",
      ].join(" ");
    case "apparmor":
      return [
        "AppArmor keeps user namespaces from bwrap. Allow that one program, not all of them:",
        "write this to /etc/apparmor.d/bwrap and run",
        "sudo apparmor_parser -r /etc/apparmor.d/bwrap:",
        `\n\n${APPARMOR_PROFILE}`,
      ].join(" ");
    case "container-seccomp":
      return [
        "The container's seccomp profile blocks unshare. Start the container with",
        "--security-opt seccomp=unconfined (or a profile that allows clone, unshare, mount,",
        "umount2, pivot_root and setns) and --security-opt systempaths=unconfined;",
        "Cellar's own filter still guards every cell.",
      ].join(" ");
    case "container-proc":
      return [
        "The container's masked /proc refuses nested mounts. Start it with",
        "--security-opt systempaths=unconfined.",
      ].join(" ");
    case "one-id":
      return [
        "Start Cellar as an ordinary user, or give the user namespace a range of ids",
        "(rootless containers take theirs from /etc/subuid and /etc/subgid).",
      ].join(" ");
    case "cgroups":
      return [
        "Start the host in a delegated scope:",
        "systemd-run --user --scope -p Delegate=yes -- <command>;",
        "in a container, mount the cgroup file system writable;",
        "or start as root on a machine whose memory and pids controllers are on.",
      ].join(" ");
    case "python":
      return [
        "Install Python 3.8 or newer, or name one with the option `python`",
        "(a python binary or a venv folder).",
      ].join(" ");
    default:
      return cause satisfies never;
  }
}

function installCommand(osRelease: string): string {
  const ids = osRelease
    .split("\n")
    .flatMap((line) => /^ID(?:_LIKE)?=(.*)$/.exec(line)?.[1]?.replaceAll('"', "").split(" ") ?? []);
  const known = INSTALL_BY_DISTRIBUTION.find(([names]) => names.some((name) => ids.includes(name)));
  return known?.[1] ?? "with your system's package manager (the package is called bubblewrap)";
}
