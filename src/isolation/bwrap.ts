import { join, posix } from "node:path";
import { CellarError } from "../errors.js";
import { guestPath, PROGRAMS_GUEST } from "./programs.js";

/** Where a piece of the host appears inside the wall. */
export interface Binding {
  host: string;
  guest: string;
}

export interface Mount extends Binding {
  readonly: boolean;
}

/** How the host lays out its system folders; `systemLayout` looks it up. */
export interface SystemLayout {
  /** Top-level links such as `/lib` to `usr/lib`. */
  links: readonly { name: string; target: string }[];
  /** Top-level folders to show as they are, `/usr` among them. */
  folders: readonly string[];
  /** Harmless files and folders of `/etc` that exist. */
  etc: readonly string[];
}

export interface WallPrograms {
  readonly scripts: readonly { fd: number; name: string }[];
  readonly links: Readonly<Record<string, string>>;
}

export interface WallPolicy {
  python: { executable: string; roots: readonly Binding[] };
  runner: Binding;
  /** The folder of the host's listening sockets. */
  sockets: Binding;
  /** The folder of session folders; each session sees only its own. */
  sessionRoot?: Binding | undefined;
  mounts: readonly Mount[];
  hostname: string;
  /** Small files handed over as open descriptors. */
  files: readonly { fd: number; guest: string }[];
  /** The names by which a session calls its interpreter: scripts as descriptors, and links to them. */
  programs?: WallPrograms | undefined;
  system: SystemLayout;
  /** Size in MiB of each of `/tmp` and `/dev/shm`. */
  tmpMb: number;
  /** Whether the host's network is that of the sessions too. */
  sharesNetwork?: boolean | undefined;
  /** Whether the wall is raised inside a user namespace that was made for it, by its root. */
  hasOwnUsers?: boolean | undefined;
  /** False where the zygote must move processes between delegated version 2 cgroups. */
  cgroupNamespace: boolean;
}

/** What both kinds of wall show inside. */
export type WallView = Pick<
  WallPolicy,
  "python" | "runner" | "mounts" | "hostname" | "files" | "programs" | "system" | "sharesNetwork"
>;

/** A single jailed process: it has no sockets of the host, and its own `/workspace`. */
export interface OneShotPolicy
  extends Omit<WallPolicy, "sockets" | "sessionRoot" | "cgroupNamespace"> {
  /** Where bwrap finds the seccomp program, as it sees its own descriptors. */
  seccompFd: number;
  /** Whether the host's processes can be seen and signalled as far as their owner may. */
  sharesPids?: boolean | undefined;
  /** Size in MiB of `/workspace`; that of `/tmp` without it. */
  workspaceMb?: number | undefined;
}

/** The variables of every session, wherever its folders are. */
export function sessionEnvironment(
  workspace: string,
  temporary: string,
): Readonly<Record<string, string>> {
  return {
    LANG: "C.UTF-8",
    HOME: workspace,
    PWD: workspace,
    // Caches of libraries do not belong among the session's files.
    XDG_CACHE_HOME: join(temporary, ".cache"),
    XDG_CONFIG_HOME: join(temporary, ".config"),
    XDG_DATA_HOME: join(temporary, ".local", "share"),
    XDG_STATE_HOME: join(temporary, ".local", "state"),
    IPYTHONDIR: join(temporary, ".ipython"),
    OPENBLAS_NUM_THREADS: "1",
    OMP_NUM_THREADS: "1",
    MKL_NUM_THREADS: "1",
    NUMEXPR_NUM_THREADS: "1",
    MPLBACKEND: "Agg",
    MPLCONFIGDIR: join(temporary, "mpl"),
  };
}

const NAMESPACES_BUT_CGROUP = ["ipc", "pid", "net", "uts"].map((name) => `--unshare-${name}`);
const NAMESPACES_BUT_PIDS = ["ipc", "net", "uts", "cgroup-try"].map((name) => `--unshare-${name}`);
const SHARED_NETWORK = ["--share-net"];

/** The kernel's own, and what each session covers: a folder bound there would never be seen. */
const COVERED_PATHS = ["/proc", "/dev", "/sys", "/tmp"];
const WORKSPACE = "/workspace";
/** Where a session finds long outputs that its agent saw in part. */
const SPILLED = "/spilled";

const GUEST_ADVICE = "Choose a guest path of its own, such as /data.";

/** Every argument of the outer wall, in which the zygote runs as a root of nothing. */
export function wallOptions(policy: WallPolicy): string[] {
  const sessionRoot = policy.sessionRoot === undefined ? [] : [policy.sessionRoot];
  checkPaths(
    policy,
    [policy.sockets, policy.runner, ...sessionRoot],
    [...COVERED_PATHS, WORKSPACE],
  );
  return [
    ...wallNamespaces(policy),
    ...["--cap-add", "ALL"],
    ...["--die-with-parent", "--new-session", "--clearenv", "--hostname", policy.hostname],
    ...systemOptions(policy),
    ...["--proc", "/proc"],
    ...temporaryFolder("/tmp", policy.tmpMb),
    ...temporaryFolder("/dev/shm", policy.tmpMb),
    ...["--dir", WORKSPACE],
    ...["--bind", policy.sockets.host, policy.sockets.guest],
    ...sessionRoot.flatMap(({ host, guest }) => ["--bind", host, guest, "--dir", SPILLED]),
    ...mountOptions(policy.mounts),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...environmentOptions(policy.python.executable),
    ...["--chdir", "/"],
  ];
}

function wallNamespaces(policy: WallPolicy): string[] {
  const network = policy.sharesNetwork === true;
  if (policy.hasOwnUsers === true) {
    // Here a network namespace is unshared by name, so it must not be named to be shared.
    const kinds = NAMESPACES_BUT_CGROUP.filter((kind) => !(network && kind === "--unshare-net"));
    return policy.cgroupNamespace ? [...kinds, "--unshare-cgroup-try"] : kinds;
  }
  return [
    ...(policy.cgroupNamespace ? ["--unshare-all"] : NAMESPACES_BUT_CGROUP),
    ...(network ? SHARED_NETWORK : []),
    ...["--unshare-user", "--uid", "0", "--gid", "0"],
  ];
}

/** Every argument of a wall around one process that needs nothing but to compute. */
export function oneShotOptions(policy: OneShotPolicy): string[] {
  checkPaths(policy, [policy.runner], COVERED_PATHS);
  return [
    ...(policy.sharesPids === true ? NAMESPACES_BUT_PIDS : ["--unshare-all"]),
    ...(policy.sharesNetwork === true ? SHARED_NETWORK : []),
    ...["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"],
    ...["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"],
    ...["--hostname", policy.hostname],
    ...systemOptions(policy),
    // Without a pid namespace of its own there is no other view of processes.
    ...(policy.sharesPids === true ? ["--ro-bind", "/proc", "/proc"] : ["--proc", "/proc"]),
    ...temporaryFolder("/tmp", policy.tmpMb),
    ...temporaryFolder("/dev/shm", policy.tmpMb),
    ...temporaryFolder(WORKSPACE, policy.workspaceMb ?? policy.tmpMb),
    ...mountOptions(policy.mounts),
    ...["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/"],
    ...environmentOptions(policy.python.executable),
    ...["--chdir", "/workspace", "--seccomp", String(policy.seccompFd)],
  ];
}

/** Options as `bwrap --args FD` reads them, so that no process list shows them. */
export function encodeOptions(options: readonly string[]): Buffer {
  return Buffer.from(options.map((option) => `${option}\0`).join(""));
}

function systemOptions(policy: WallView): string[] {
  return [
    ...policy.system.folders.flatMap((folder) => readOnly({ host: folder, guest: folder })),
    ...policy.system.links.flatMap(({ name, target }) => ["--symlink", target, name]),
    ...openParents([
      ...policy.system.etc,
      ...[...policy.files, ...policy.python.roots, policy.runner, ...policy.mounts].map(
        ({ guest }) => guest,
      ),
    ]),
    ...policy.system.etc.flatMap((path) => readOnly({ host: path, guest: path })),
    ...policy.files.flatMap(({ fd, guest }) => [
      ...["--perms", "0644", "--ro-bind-data", String(fd), guest],
    ]),
    ...["--dev", "/dev"],
    ...["--dir", "/var", "--symlink", "../tmp", "/var/tmp"],
    ...parentsFirst(policy.python.roots).flatMap(readOnly),
    ...readOnly(policy.runner),
    ...programOptions(policy.programs),
  ];
}

/** Copied into the wall's own root, which is closed later: no mount of the host's for each. */
function programOptions(programs: WallPrograms | undefined): string[] {
  if (programs === undefined) return [];
  const at = (name: string) => posix.join(PROGRAMS_GUEST, name);
  return [
    ...openParents([at("python")]),
    ...programs.scripts.flatMap(({ fd, name }) => [
      ...["--perms", "0755", "--file", String(fd), at(name)],
    ]),
    ...Object.entries(programs.links).flatMap(([name, target]) => ["--symlink", target, at(name)]),
  ];
}

/** Left to itself, bwrap lets only their owner pass some of the folders on the way. */
function openParents(paths: readonly string[]): string[] {
  const parents = new Set(paths.flatMap(ancestors));
  return [...parents].sort().flatMap((folder) => ["--perms", "0755", "--dir", folder]);
}

/** `/a` and `/a/b` of `/a/b/c`. */
function ancestors(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === "/" ? [] : [...ancestors(parent), parent];
}

function readOnly({ host, guest }: Binding): string[] {
  return ["--ro-bind", host, guest];
}

/** `--size` and `--perms` hold for the next operation only. */
function temporaryFolder(guest: string, megabytes: number): string[] {
  return ["--size", String(megabytes * 1024 * 1024), "--perms", "1777", "--tmpfs", guest];
}

function mountOptions(mounts: readonly Mount[]): string[] {
  return parentsFirst(mounts).flatMap(({ host, guest, readonly }) => [
    readonly ? "--ro-bind" : "--bind",
    host,
    guest,
  ]);
}

function parentsFirst<T extends Binding>(bindings: readonly T[]): T[] {
  return [...bindings].sort((a, b) => a.guest.split("/").length - b.guest.split("/").length);
}

/** What every session finds set. */
export function guestEnvironment(executable: string): Record<string, string> {
  return {
    PATH: guestPath(executable),
    ...sessionEnvironment("/workspace", "/tmp"),
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

function environmentOptions(executable: string): string[] {
  return Object.entries(guestEnvironment(executable)).flatMap(([name, value]) => [
    "--setenv",
    name,
    value,
  ]);
}

function checkPaths(policy: WallView, ours: readonly Binding[], reserved: string[]): void {
  const bindings = [...ours, ...policy.python.roots, ...policy.mounts];
  for (const path of bindings.flatMap(({ host, guest }) => [host, guest])) {
    checkAbsolute(path);
  }
  for (const { guest } of policy.python.roots) {
    checkGuest(guest, reserved);
  }
  const occupied = [
    ...reserved,
    "/var/tmp",
    ...policy.system.etc,
    ...policy.files.map(({ guest }) => guest),
    ...(policy.programs === undefined ? [] : [PROGRAMS_GUEST]),
    ...policy.system.folders,
    ...policy.system.links.map(({ name }) => name),
    ...ours.map(({ guest }) => guest),
    ...policy.python.roots.map(({ guest }) => guest),
  ];
  const seen = new Set<string>();
  for (const { guest } of policy.mounts) {
    checkGuest(guest, occupied);
    if (seen.has(guest)) {
      throw invalid(`Two mounts share the guest path ${guest}`, GUEST_ADVICE);
    }
    seen.add(guest);
  }
}

function checkAbsolute(path: string): void {
  if (path.includes("\0")) {
    throw invalid(`The path ${JSON.stringify(path)} contains a NUL`, "Remove the NUL character.");
  }
  if (!posix.isAbsolute(path) || posix.normalize(path) !== path || isFolderSpelling(path)) {
    throw invalid(
      `The path ${JSON.stringify(path)} is not absolute and normalised`,
      "Write it from / on, without `.`, `..`, doubled or trailing slashes.",
    );
  }
}

function isFolderSpelling(path: string): boolean {
  return path !== "/" && path.endsWith("/");
}

function checkGuest(guest: string, occupied: readonly string[]): void {
  if (guest === "/") {
    throw invalid("A mount cannot replace / in the sandbox", GUEST_ADVICE);
  }
  const taken = occupied.find((path) => isWithin(guest, path) || isWithin(path, guest));
  if (taken !== undefined) {
    throw invalid(`The guest path ${guest} would cover or lie under ${taken}`, GUEST_ADVICE);
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function invalid(message: string, remedy: string): CellarError {
  return new CellarError("INVALID_CONFIG", message, { remedy });
}
