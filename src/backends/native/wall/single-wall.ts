import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { encodeOptions, type Mount, oneShotOptions } from "../../../isolation/bwrap.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import { systemLayout } from "../../../isolation/layout.js";
import { sessionPrograms } from "../../../isolation/programs.js";
import { seccompProgram } from "../../../isolation/seccomp/seccomp.js";
import { shownRoots } from "../../../isolation/site-folders.js";
import type { Limits } from "../../../protocol/messages.js";
import { BindSources } from "../../host/bind-sources.js";
import type { Identity, RunFolder } from "../../host/run-folder.js";
import { RUNNER_GUEST } from "./wall.js";

/** Beside the standard streams: the keeper's lifeline, what bwrap and the launcher read, and files. */
const ARGUMENTS_FD = 4;
const SECCOMP_FD = 5;
const ORDERS_FD = 6;
const EXCHANGE_FD = 7;
const FIRST_FREE_FD = 8;

/** A wall around one plain process, which has no namespace of process numbers. */
export interface SingleWall {
  readonly bwrap: string;
  readonly folder: RunFolder;
  readonly identity: Identity | undefined;
  readonly mounts: readonly Mount[];
  readonly sharesNetwork: boolean;
  /** A folder of the host that is to be /workspace, instead of an empty one. */
  readonly workspace: string | undefined;
  /** An open file through which states come out and go in. */
  readonly exchange: number;
}

/** The keeper stays outside: it inherits what the session leaves behind, and ends it. */
export function launchBehindWall(
  wall: SingleWall,
  interpreter: Interpreter,
  runner: string,
  limits: Limits,
): ChildProcess {
  const { folder, identity } = wall;
  const { executable, guestExecutable, version } = interpreter;
  const files = folder.files.map(({ host, guest }) => ({ fd: openSync(host, "r"), guest }));
  const programs = sessionPrograms(guestExecutable, version, RUNNER_GUEST);
  const scripts = folder
    .keepScripts(programs.scripts)
    .map(({ host, name }) => ({ fd: openSync(host, "r"), name }));
  const reach = new BindSources(folder, identity);
  const { workspace } = wall;
  const own = workspace && [{ host: workspace, guest: "/workspace", readonly: false }];
  const options = oneShotOptions({
    python: {
      executable: guestExecutable,
      roots: shownRoots(interpreter, wall.mounts).map(({ host, guest }) => ({
        host: reach.path(host),
        guest,
      })),
    },
    runner: { host: reach.path(runner), guest: RUNNER_GUEST },
    mounts: [...wall.mounts, ...(own || [])].map((mount) => ({
      ...mount,
      host: reach.path(mount.host),
    })),
    hostname: "cellar",
    files: files.map(({ guest }, index) => ({ fd: FIRST_FREE_FD + index, guest })),
    programs: {
      scripts: scripts.map(({ name }, index) => ({
        fd: FIRST_FREE_FD + files.length + index,
        name,
      })),
      links: programs.links,
    },
    system: systemLayout(),
    tmpMb: limits.tmp_mb,
    workspaceMb: limits.workspace_mb,
    seccompFd: SECCOMP_FD,
    sharesPids: true,
    sharesNetwork: wall.sharesNetwork,
    command: [],
  });
  const boot = bootCode(wall.sharesNetwork);
  const inside = [guestExecutable, "-I", "-B", "-X", "utf8", "-c", boot];
  const argv = [wall.bwrap, "--args", String(ARGUMENTS_FD), "--", ...inside];
  const script = (name: string) => [executable, "-I", "-S", join(runner, "bootstrap", name)];
  const launched = identity === undefined ? argv : [...script("drop_root.py"), String(ORDERS_FD)];
  const [program = "", ...rest] = [...script("subreaper.py"), ...launched];
  const pipes = ["pipe", "pipe", "pipe", "pipe", "pipe", "pipe", "pipe"] as const;
  const child = spawn(program, rest, {
    env: {},
    cwd: "/",
    stdio: [...pipes, wall.exchange, ...[...files, ...scripts].map(({ fd }) => fd)],
  });
  for (const { fd } of [...files, ...scripts]) closeSync(fd);
  const orders =
    identity === undefined ? "" : JSON.stringify({ ...identity, binds: reach.binds, argv });
  tell(child, ARGUMENTS_FD, encodeOptions(options));
  const architecture = process.arch === "arm64" ? "arm64" : "x64";
  tell(child, SECCOMP_FD, seccompProgram(architecture, { inotify: limits.inotify_watches > 0 }));
  tell(child, ORDERS_FD, orders);
  return child;
}

/** The process behind the keeper, which is no longer root when the session speaks. */
export function processBehind(keeper: number): number {
  const children = readFileSync(`/proc/${keeper}/task/${keeper}/children`, "utf8");
  return Number(children.trim().split(" ")[0]);
}

function bootCode(hasNetwork: boolean): string {
  return [
    "import sys",
    "sys.path.insert(0, '/opt/cellar')",
    "from cellar_runner.session.plain import main_walled",
    "sys.path.remove('/opt/cellar')",
    `main_walled(${EXCHANGE_FD}, ${hasNetwork ? "True" : "False"})`,
  ].join("\n");
}

function tell(child: ChildProcess, descriptor: number, data: string | Buffer): void {
  const stream = child.stdio[descriptor] as Duplex | null | undefined;
  // A wall that fell early tells why by its exit.
  stream?.on("error", () => {});
  stream?.end(data);
}
