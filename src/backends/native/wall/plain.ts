import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { Duplex } from "node:stream";
import type { HostEnvironment } from "../../../config/environment.js";
import { sessionEnvironment } from "../../../isolation/bwrap.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import type { Finding, ProbeFacts } from "../../../isolation/levels.js";
import { sessionPrograms } from "../../../isolation/programs.js";
import { temporaryTrouble } from "../../../isolation/temporary-trouble.js";
import type { DeathCause, Limits } from "../../../protocol/messages.js";
import { Peer } from "../../../protocol/peer.js";
import { sweep } from "../../host/run-folder.js";
import { tailOf } from "../../host/stderr-tail.js";
import { Session } from "../../session/session.js";
import {
  abandon,
  exitCause,
  startFailure,
  untilOver,
  waitForHello,
} from "../../session/single-process.js";
import { launchBehindWall, type SingleWall } from "./single-wall.js";
import { bootCode, bootstrapCommand } from "./wall-parts.js";

/** The subreaper kills everything at once, or is killed after this. */
const SUBREAPER_MS = 5_000;
const LIFELINE = 3;
/** Windows knows neither process groups nor a spawn that keeps them. */
const HAS_SUBREAPER = process.platform !== "win32";

const NAME = "plain Python";
const STATE_LOST = "the plain process ended and its state was lost: it has no checkpoints";

export interface PlainPlan {
  readonly interpreter: Interpreter;
  readonly hostEnvironment: HostEnvironment;
  readonly limits: Limits;
  readonly workspace?: string | undefined;
  readonly wall?: SingleWall | undefined;
}

export interface PlainSession {
  readonly session: Session;
  readonly pid: number;
  readonly facts: ProbeFacts;
}

/** Starts a session that is one ordinary process. It runs as the caller does. */
export async function startPlain(plan: PlainPlan): Promise<PlainSession> {
  const { wall } = plan;
  const folder = wall?.folder.path ?? makeFolder(plan.hostEnvironment.temporary);
  const child = launch(plan, folder);
  const said = tailOf(child.stderr);
  const peer = new Peer(linkOf(child));
  let isKilled = false;
  const end = () => {
    isKilled ||= peer.isOpen;
    endProcesses(child);
  };
  const id = randomBytes(12).toString("hex");
  const token = randomBytes(24).toString("base64url");
  const session = new Session(id, { endProcess: end, exchange: wall?.exchange });
  session.ended.then(end);
  const causeOf = (code: number | null, signal: NodeJS.Signals | null): DeathCause =>
    isKilled && (signal === "SIGKILL" || !HAS_SUBREAPER)
      ? { kind: "killed" }
      : exitCause(code, signal, wall !== undefined);
  const tidy = () => removeFolder(folder);
  const started = { child, session, name: NAME, stateLost: STATE_LOST, causeOf, tidy };
  const over = untilOver(started);
  peer.notify("plain_boot", { session: id, token, limits: plan.limits });
  try {
    const hello = await waitForHello(peer, over, { id, token });
    session.welcome(hello, peer);
    return { session, pid: child.pid ?? 0, facts: plainFacts(hello.abilities) };
  } catch (error) {
    throw await abandon(started, said(), error);
  }
}

function launch(plan: PlainPlan, folder: string): ChildProcess {
  const { hostEnvironment, wall, limits } = plan;
  const python = join(hostEnvironment.packageRoot, "python");
  const child =
    wall === undefined ? launchBare(plan, python, folder) : launchBehindWall(wall, limits);
  child.unref();
  for (const stream of child.stdio) {
    // The exit says more than an error here.
    stream?.on("error", () => {});
    if (stream instanceof Socket) stream.unref();
  }
  return child;
}

function launchBare(plan: PlainPlan, python: string, folder: string): ChildProcess {
  const { interpreter, hostEnvironment, workspace = join(folder, "workspace") } = plan;
  const boot = bootCode(python, "session.plain", "main");
  const command = [interpreter.executable, "-I", "-X", "utf8", "-c", boot];
  const runner = join(python, "cellar_runner");
  const subreaper = bootstrapCommand(interpreter, runner, "subreaper");
  const [program = "", ...rest] = HAS_SUBREAPER ? [...subreaper, ...command] : command;
  return spawn(program, rest, {
    env: environment(interpreter, runner, hostEnvironment, folder, workspace),
    cwd: workspace,
    stdio: ["pipe", "pipe", "pipe", ...(HAS_SUBREAPER ? (["pipe"] as const) : [])],
    windowsHide: true,
  });
}

function linkOf({ stdin, stdout }: ChildProcess): Duplex {
  if (stdin === null || stdout === null) throw startFailure(NAME, "it has no standard streams");
  return Duplex.from({ readable: stdout, writable: stdin });
}

/** Nothing of the caller's environment but the search path; Node adds what Windows needs to start. */
function environment(
  interpreter: Interpreter,
  runner: string,
  { path }: HostEnvironment,
  folder: string,
  workspace: string,
): Record<string, string> {
  const temporary = join(folder, "tmp");
  const programs = HAS_SUBREAPER ? [writePrograms(interpreter, runner, folder)] : [];
  return {
    PATH: [...programs, dirname(interpreter.executable), path].join(delimiter),
    ...sessionEnvironment(workspace, temporary),
    TMPDIR: temporary,
    TEMP: temporary,
    TMP: temporary,
  };
}

/** The folder of the names by which the session calls its interpreter. */
function writePrograms(
  { executable, version }: Interpreter,
  runner: string,
  folder: string,
): string {
  const programs = join(folder, "bin");
  const { scripts, links } = sessionPrograms(executable, version, runner);
  mkdirSync(programs, { mode: 0o700 });
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(programs, name), text, { mode: 0o700 });
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(programs, name));
  return programs;
}

/** Closing the lifeline makes the subreaper kill everything. */
function endProcesses(child: ChildProcess): void {
  const lifeline = child.stdio[LIFELINE];
  if (!HAS_SUBREAPER || lifeline === undefined || lifeline === null) {
    child.kill("SIGKILL");
    return;
  }
  if (lifeline.destroyed) return;
  lifeline.destroy();
  const timer = setTimeout(() => child.kill("SIGKILL"), SUBREAPER_MS);
  timer.unref();
  child.once("exit", () => clearTimeout(timer));
}

function makeFolder(temporary: string): string {
  try {
    sweep(temporary);
    const folder = mkdtempSync(join(temporary, `cellar-${process.pid}-`));
    for (const name of ["workspace", "tmp"]) mkdirSync(join(folder, name), { mode: 0o700 });
    return folder;
  } catch (error) {
    throw temporaryTrouble("the files of a session", temporary, error);
  }
}

function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A file that is still in use is left to the next sweep.
  }
}

/** What the process could limit by itself, without a wall. */
function plainFacts(abilities: readonly string[]): ProbeFacts {
  const uid = process.getuid?.();
  const none: Finding = { ok: false, detail: "a plain process has no isolation" };
  const memory = abilities.includes("memory-limit") ? "memory among them" : "memory not among them";
  return {
    limits: abilities.includes("limits")
      ? { ok: true, detail: `rlimits set (${memory}), kill, an environment of its own` }
      : { ok: false, detail: "this system has no resource limits, or refused them" },
    "host-uid": {
      ok: uid !== undefined && uid !== 0,
      detail: uid === undefined ? "runs as you" : `runs as you (uid ${uid})`,
    },
    seccomp: none,
    landlock: none,
    "outer-wall": none,
    "inner-wall": none,
    canary: { ok: false, detail: "the host's files can be read" },
    network: { ok: false, detail: "the host's network can be reached" },
    "cgroup.memory": none,
    "cgroup.pids": none,
    "guest-kernel": none,
  };
}
