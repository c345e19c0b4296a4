import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, statSync } from "node:fs";
import { Socket } from "node:net";
import { availableParallelism, getPriority, setPriority } from "node:os";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { CellarError } from "../../errors.js";
import { type Binding, encodeOptions } from "../../isolation/bwrap.js";
import { type Engine, engineWallOptions } from "../../isolation/engine-wall.js";
import { remedyFor } from "../../isolation/remedies.js";
import type { Limits } from "../../protocol/messages.js";
import { isRealTime } from "../host/machine.js";
import type { Identity } from "../host/run-folder.js";
import { FIRST_FREE_DESCRIPTOR, type ProcessPlan } from "./inside/plan.js";

/** Options of Node: no code from strings, hardly a collection of garbage while it starts. */
const ENGINE_OPTIONS = [
  "--disallow-code-generation-from-strings",
  "--no-warnings",
  "--min-semi-space-size=16",
  "--max-semi-space-size=64",
  "--initial-old-space-size=128",
];

const MEBIBYTE = 1024 * 1024;
/** What the engine needs for itself, beside Python's memory; the stacks of its threads among it. */
export const ENGINE_MB = 768;
/** What the engine sets aside for compiled code: now and then all of it is writable from the start. */
const CODE_MB = 512;
/** Python stops a recursion by its own count, if only the engine's stack is not exhausted before. */
const STACK_MB = 32;
const STACK_OPTION = `--stack-size=${28 * 1024}`;
/** Node itself opens some dozens. */
const LEAST_FILES = 64;

/** V8's own default number of compiler threads. */
const MOST_THREADS = 4;

const GUEST_ROOT = "/opt/cellar";
const ARGUMENTS_FD = FIRST_FREE_DESCRIPTOR;
const SECCOMP_FD = FIRST_FREE_DESCRIPTOR + 1;
const VIEW_FD = FIRST_FREE_DESCRIPTOR + 2;

/** Where the parts of a Pyodide process are on the host. */
export interface PyodideFiles {
  readonly packageRoot: string;
  /** The folder of pyodide.mjs. */
  readonly distribution: string;
  readonly wheels: string | null;
}

export interface LaunchOrder {
  readonly files: PyodideFiles;
  readonly limits: Limits;
  readonly packages: readonly string[];
  /** A snapshot to start from, a request to send one, or neither. */
  readonly memory: { readonly file: string; readonly offset: number } | "write" | "none";
  readonly probe: ProcessPlan["probe"];
}

/** Programs of the host that a process is started through. */
export interface Tools {
  /** Sets limits; without it there are no limits. */
  readonly prlimit: string | undefined;
  /** Leaves a real-time scheduling policy. */
  readonly chrt: string | undefined;
}

export interface Walls {
  readonly bwrap: string;
  readonly engine: Engine;
  readonly seccomp: Buffer;
  /** Whom root becomes; undefined for an ordinary user. */
  readonly identity: Identity | undefined;
  /** Drops root where files must be shown that only root can reach. */
  readonly setpriv: string | undefined;
  /** An empty place that the other identity can reach, to bind this at. */
  readonly place: (host: string) => string;
}

/** Starts the process without isolation, with limits where they can be set. */
export function launchBare(order: LaunchOrder, tools: Tools): ChildProcess {
  const { packageRoot, distribution, wheels } = order.files;
  const plan = planOf(order, {
    distribution,
    wheels,
    runner: runnerOf(packageRoot),
  });
  const [program = "", ...rest] = [
    ...leavingRealTime(tools),
    ...settingLimits(tools, order.limits),
    process.execPath,
    ...engineOptions(tools),
    join(insideOf(packageRoot), "process.js"),
    JSON.stringify(plan),
  ];
  return start(program, rest, order, { stdio: [] });
}

/**
 * Starts the process in bubblewrap, where it sees only its own parts. `admit` is called
 * before it starts any other.
 */
export function launchWalled(
  order: LaunchOrder,
  walls: Walls,
  tools: Tools,
  admit: (pid: number) => void,
): ChildProcess {
  const { files } = order;
  const guest = {
    distribution: `${GUEST_ROOT}/pyodide`,
    runner: `${GUEST_ROOT}/python`,
    wheels: files.wheels === null ? null : `${GUEST_ROOT}/wheels`,
  };
  const node = `${GUEST_ROOT}/bin/node`;
  const inside = `${GUEST_ROOT}/dist/backends/pyodide/inside`;
  const parts: Binding[] = [
    { host: walls.engine.executable, guest: node },
    { host: join(files.packageRoot, "package.json"), guest: `${GUEST_ROOT}/package.json` },
    { host: insideOf(files.packageRoot), guest: inside },
    { host: runnerOf(files.packageRoot), guest: guest.runner },
    { host: files.distribution, guest: guest.distribution },
    ...(files.wheels === null || guest.wheels === null
      ? []
      : [{ host: files.wheels, guest: guest.wheels }]),
    ...walls.engine.libraries,
  ];
  const { shown, view, dropping, credentials } = reachable(parts, walls);
  const options = engineWallOptions({
    shown,
    environment: { LD_LIBRARY_PATH: walls.engine.libraryPath },
    hostname: "cellar",
    seccompFd: SECCOMP_FD,
  });
  const [program = "", ...rest] = [
    ...leavingRealTime(tools),
    ...dropping,
    ...settingLimits(tools, order.limits),
    ...[walls.bwrap, "--args", String(ARGUMENTS_FD), "--"],
    ...[
      node,
      ...engineOptions(tools),
      `${inside}/process.js`,
      JSON.stringify(planOf(order, guest)),
    ],
  ];
  const child = start(program, rest, order, {
    stdio: view.length > 0 ? ["pipe", "pipe", "pipe"] : ["pipe", "pipe"],
    ...credentials,
  });
  if (child.pid !== undefined) admit(child.pid);
  streamOf(child, VIEW_FD)?.end(encodeOptions(view));
  streamOf(child, ARGUMENTS_FD)?.end(encodeOptions(options));
  streamOf(child, SECCOMP_FD)?.end(walls.seccomp);
  return child;
}

/**
 * Root gives itself up before the wall is built. What the other identity can reach is bound from
 * where it is; else a first, private view of the files makes it reachable.
 */
function reachable(
  parts: readonly Binding[],
  walls: Walls,
): { shown: Binding[]; view: string[]; dropping: string[]; credentials: Partial<Identity> } {
  const { identity, setpriv, bwrap } = walls;
  const asTheyAre = { shown: [...parts], view: [], dropping: [] };
  if (identity === undefined) return { ...asTheyAre, credentials: {} };
  const hidden = parts.filter(({ host }) => !isReachable(host));
  if (hidden.length === 0) return { ...asTheyAre, credentials: identity };
  if (setpriv === undefined) {
    throw new Error(`setpriv is not installed, and ${hidden[0]?.host} is readable by root only`);
  }
  const places = new Map(hidden.map(({ host }) => [host, walls.place(host)]));
  return {
    shown: parts.map(({ host, guest }) => ({ host: places.get(host) ?? host, guest })),
    view: [
      ...["--die-with-parent", "--dev-bind", "/", "/"],
      ...[...places].flatMap(([host, place]) => ["--ro-bind", host, place]),
    ],
    dropping: [
      ...[bwrap, "--args", String(VIEW_FD), "--"],
      ...[setpriv, `--reuid=${identity.uid}`, `--regid=${identity.gid}`, "--clear-groups", "--"],
    ],
    credentials: {},
  };
}

/** Whether everybody may read it and pass through all folders above it. */
function isReachable(path: string): boolean {
  const stats = statSync(path);
  const wanted = stats.isDirectory() ? 0o005 : 0o004;
  if ((stats.mode & wanted) !== wanted) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

function engineOptions({ prlimit }: Tools): string[] {
  // More threads than processors would take them from the one that starts Python.
  const threads = `--v8-pool-size=${Math.min(MOST_THREADS, availableParallelism())}`;
  return [...ENGINE_OPTIONS, threads, ...(prlimit === undefined ? [] : [STACK_OPTION])];
}

function settingLimits({ prlimit }: Tools, limits: Limits): string[] {
  if (prlimit === undefined) return [];
  const both = (value: number) => `${value}:${value}`;
  return [
    prlimit,
    `--core=${both(0)}`,
    `--stack=${both(STACK_MB * MEBIBYTE)}`,
    `--nofile=${both(Math.max(limits.open_files, LEAST_FILES))}`,
    `--fsize=${both(limits.file_mb * MEBIBYTE)}`,
    `--data=${both((limits.memory_mb + ENGINE_MB + CODE_MB) * MEBIBYTE)}`,
    "--",
  ];
}

/** Cells that ran before everything else could keep the whole machine waiting. */
function leavingRealTime({ chrt }: Tools): string[] {
  if (process.platform !== "linux" || !isRealTime()) return [];
  if (chrt !== undefined) return [chrt, "-o", "0"];
  throw new CellarError(
    "START_FAILED",
    "cannot leave real-time scheduling: chrt is not installed",
    {
      remedy: remedyFor("real-time"),
      details: { cause: "real-time" },
    },
  );
}

function planOf(
  { packages, limits, memory, probe }: LaunchOrder,
  places: Pick<ProcessPlan, "distribution" | "runner" | "wheels">,
): ProcessPlan {
  return {
    ...places,
    packages,
    maxBytes: limits.memory_mb * MEBIBYTE,
    memory: typeof memory === "object" ? "read" : memory,
    memoryOffset: typeof memory === "object" ? memory.offset : 0,
    probe,
  };
}

function start(
  program: string,
  rest: readonly string[],
  { memory }: LaunchOrder,
  more: { stdio: "pipe"[] } & Partial<Identity>,
): ChildProcess {
  const { stdio, ...credentials } = more;
  const file = typeof memory === "object" ? openSync(memory.file, "r") : undefined;
  try {
    const child = spawn(program, rest, {
      env: {},
      cwd: "/",
      // A Ctrl-C at the host's terminal is for the host, not for this process.
      detached: process.platform !== "win32",
      stdio: [
        ...(["ignore", "pipe", "pipe", "pipe", "pipe"] as const),
        file ?? (memory === "write" ? "pipe" : "ignore"),
        ...stdio,
      ],
      windowsHide: true,
      ...credentials,
    });
    if (child.pid !== undefined && getPriority() < 0) setPriority(child.pid, 0);
    child.unref();
    for (const stream of child.stdio) {
      // The exit of the process reports the failure.
      stream?.on("error", () => {});
      if (stream instanceof Socket) stream.unref();
    }
    return child;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The host's end of one of the streams a process was given. */
export function streamOf(child: ChildProcess, descriptor: number): Duplex | undefined {
  const streams: readonly unknown[] = child.stdio;
  return (streams[descriptor] as Duplex | null) ?? undefined;
}

function insideOf(packageRoot: string): string {
  return join(packageRoot, "dist", "backends", "pyodide", "inside");
}

function runnerOf(packageRoot: string): string {
  return join(packageRoot, "python", "cellar_runner");
}
