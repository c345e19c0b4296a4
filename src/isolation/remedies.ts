const APPARMOR_PROFILE = `abi <abi/4.0>,
include <tunables/global>

profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/bwrap>
}
`;

/** What to do, or a function of the text of `/etc/os-release` that says it. */
type Remedy = string | ((osRelease: string) => string);

/** Why isolation is not available. Only these causes can be met by asking for less of it. */
const ISOLATION_REMEDIES = {
  "bwrap-missing": (osRelease) => `Install bubblewrap: ${installCommand(osRelease, "bubblewrap")}.`,
  "bwrap-too-old": (osRelease) =>
    `Install bubblewrap 0.8.0 or newer: ${installCommand(osRelease, "bubblewrap")}.`,
  "user-namespaces-off":
    "Let ordinary users make user namespaces: sudo sysctl -w user.max_user_namespaces=15000 " +
    "and, where that setting exists, sudo sysctl -w kernel.unprivileged_userns_clone=1 " +
    "(keep them in /etc/sysctl.d/ to survive a restart).",
  "namespace-limit":
    "Let more user namespaces be made: sudo sysctl -w user.max_user_namespaces=15000 " +
    "(keep it in /etc/sysctl.d/ to survive a restart); each sandbox takes two.",
  apparmor:
    "AppArmor keeps user namespaces from bwrap. Allow that one program, not all of them: " +
    "write this to /etc/apparmor.d/bwrap and run " +
    `sudo apparmor_parser -r /etc/apparmor.d/bwrap: \n\n${APPARMOR_PROFILE}`,
  "container-seccomp":
    "The container's seccomp profile blocks unshare. Start the container with " +
    "--security-opt seccomp=unconfined (or a profile that allows clone, unshare, mount, " +
    "umount2, pivot_root and setns) and --security-opt systempaths=unconfined; " +
    "Cellar's own filter still guards every cell.",
  "container-proc":
    "The container's masked /proc refuses nested mounts. Start it with " +
    "--security-opt systempaths=unconfined.",
  "one-id":
    "Start Cellar as an ordinary user, or give the user namespace a range of ids " +
    "(rootless containers take theirs from /etc/subuid and /etc/subgid).",
  cgroups:
    "Start the host in a delegated scope: " +
    "systemd-run --user --scope -p Delegate=yes -- <command>; " +
    "in a container, mount the cgroup file system writable; " +
    "or start as root on a machine whose memory and pids controllers are on.",
  "below-minimum": "cellar doctor tells what is missing, and how to get it.",
  platform: "Use Linux on x86-64 or arm64: a virtual machine, WSL 2 or a container.",
  "left-out": "Leave walls: false out of the options of the runtime.",
  "own-thread": "Leave useWorker out to run it in a process of its own.",
} satisfies Record<string, Remedy>;

/** Why a session does not start although the machine may well offer isolation. */
const OTHER_REMEDIES = {
  "own-files":
    "If you bundle your program, mark cellar as external in the bundler, so that it is loaded " +
    "from node_modules (esbuild: --external:cellar). Else install cellar again.",
  python: (osRelease) =>
    `Install Python 3.8 or newer: ${installCommand(osRelease, "python3")}; ` +
    "or name one with --python, CELLAR_PYTHON or the option python (a python binary or a venv " +
    "folder).",
  "no-space": "Set TMPDIR to a folder with more space, or free some.",
  "no-permission": "Give this user access to it. cellar doctor tries each folder that is needed.",
  "temporary-hidden":
    "Sandboxes of root run as another user, who cannot reach the temporary folder. Set TMPDIR to " +
    "one that all users may pass through, such as /tmp.",
  "read-only": "Set TMPDIR to a folder that can be written.",
  "too-many-files": "Raise the limit of open files (ulimit -n), or have fewer sessions at once.",
  "too-many-processes": "Raise the limit of processes (ulimit -u), or have fewer sessions at once.",
  "out-of-memory": "Free some memory, or have fewer sessions at once.",
  "real-time":
    "This process runs under a real-time scheduling policy, which its sandbox could not leave. " +
    "Start it without one: chrt --other 0 <command>.",
  unknown: "Run cellar doctor: it tries each part, and tells which one fails.",
} satisfies Record<string, Remedy>;

export type IsolationCause = keyof typeof ISOLATION_REMEDIES;
export type OtherCause = keyof typeof OTHER_REMEDIES;
export type Cause = IsolationCause | OtherCause;

export const ISOLATION_CAUSES = Object.keys(ISOLATION_REMEDIES) as readonly IsolationCause[];
export const OTHER_CAUSES = Object.keys(OTHER_REMEDIES) as readonly OtherCause[];

/** Why no session can be started. */
export type Trouble =
  | { readonly about: "isolation"; readonly cause: IsolationCause }
  | { readonly about: "something else"; readonly cause: OtherCause };

/** What the machine told about itself, where it did. */
export interface HostRestrictions {
  inContainer: boolean;
  /** `kernel.apparmor_restrict_unprivileged_userns` is 1. */
  appArmorRestricts: boolean;
  /** `kernel.unprivileged_userns_clone` is 0, or `user.max_user_namespaces` is 0. */
  namespacesDisabled: boolean;
  /** This process was started under a real-time scheduling policy. */
  isRealTime: boolean;
}

const INSTALL_BY_DISTRIBUTION: readonly (readonly [ids: readonly string[], command: string])[] = [
  [["debian", "ubuntu"], "sudo apt-get install "],
  [["fedora", "rhel", "centos"], "sudo dnf install "],
  [["arch"], "sudo pacman -S "],
  [["alpine"], "sudo apk add "],
  [["opensuse", "suse"], "sudo zypper install "],
  [["nixos"], "nix-env -iA nixos."],
];

/** What bwrap says, and its usual cause. */
const REFUSALS: readonly (readonly [pattern: RegExp, cause: IsolationCause])[] = [
  [/setting up uid map: Permission denied/i, "apparmor"],
  [/loopback: Failed RTM_NEWADDR/i, "apparmor"],
  [/Can't mount proc on/i, "container-proc"],
  // The kernel's word for too many namespaces.
  [/Creating new namespace failed.*ENOSPC/i, "namespace-limit"],
  [/\b(clone|unshare|setns): No space left on device/i, "namespace-limit"],
  [/No permissions to create (a )?new namespace/i, "user-namespaces-off"],
  [/Creating new namespace failed/i, "user-namespaces-off"],
  [/Unknown option/i, "bwrap-too-old"],
];

/** What Node, Python and the system say where something else is the matter. */
const FAULTS: readonly (readonly [pattern: RegExp, cause: OtherCause])[] = [
  [/(ENOENT|Can't find source path|No such file).*cellar_runner/i, "own-files"],
  [/cellar_runner\S*: No such file|No module named '?cellar_runner/i, "own-files"],
  [/Can't find source path \S*\/cellar-\d+-\w{6}\/.*Permission denied/i, "temporary-hidden"],
  [/ENOSPC|EDQUOT|No space left on device|Disk quota exceeded/i, "no-space"],
  [/EROFS|Read-only file system/i, "read-only"],
  [/EMFILE|ENFILE|Too many open files/i, "too-many-files"],
  [/ENOMEM|Cannot allocate memory|MemoryError|Out of memory/i, "out-of-memory"],
  [/EAGAIN|Resource temporarily unavailable|can't start new thread/i, "too-many-processes"],
  [/EACCES|Permission denied/i, "no-permission"],
];

/** The likely cause of a failed start, from what was said and what is known of the machine. */
export function diagnose(said: string, restrictions: HostRestrictions): Trouble {
  const refusal = REFUSALS.find(([pattern]) => pattern.test(said))?.[1];
  if (refusal !== undefined) {
    return { about: "isolation", cause: behind(refusal, restrictions) };
  }
  const fault = FAULTS.find(([pattern]) => pattern.test(said))?.[1];
  const otherwise = restrictions.isRealTime ? "real-time" : "unknown";
  return { about: "something else", cause: fault ?? otherwise };
}

function behind(refusal: IsolationCause, restrictions: HostRestrictions): IsolationCause {
  if (refusal !== "user-namespaces-off" && refusal !== "apparmor") {
    return refusal;
  }
  if (restrictions.namespacesDisabled) {
    return "user-namespaces-off";
  }
  if (restrictions.appArmorRestricts) {
    return "apparmor";
  }
  return restrictions.inContainer ? "container-seccomp" : refusal;
}

/** The advice to do with less isolation, which only a cause that is about isolation can be given. */
export function adviceToLower(cause: IsolationCause, level: string): string {
  switch (cause) {
    case "below-minimum":
      return `Lower the option minIsolation to "${level}" if that is enough for you.`;
    default:
      return (
        `Or lower the option minIsolation to "${level}" to run without a sandbox: ` +
        "the code then runs as you, with limits against accidents at best."
      );
  }
}

/** The cause that an error carries, where it is about isolation. */
export function isolationCause(cause: unknown): IsolationCause | undefined {
  return ISOLATION_CAUSES.find((one) => one === cause);
}

/** What to do about a cause. `osRelease` is the text of `/etc/os-release`. */
export function remedyFor(cause: Cause, osRelease = ""): string {
  const remedy: Remedy = { ...ISOLATION_REMEDIES, ...OTHER_REMEDIES }[cause];
  return typeof remedy === "string" ? remedy : remedy(osRelease);
}

function installCommand(osRelease: string, program: "bubblewrap" | "python3"): string {
  const ids = osRelease
    .split("\n")
    .flatMap((line) => /^ID(?:_LIKE)?=(.*)$/.exec(line)?.[1]?.replaceAll('"', "").split(" ") ?? []);
  const known = INSTALL_BY_DISTRIBUTION.find(([names]) => names.some((name) => ids.includes(name)));
  return known === undefined
    ? `with your system's package manager (the package is called ${program})`
    : `${known[1]}${program}`;
}
