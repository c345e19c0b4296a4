import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { keepingAlive } from "../../concurrency/keep-alive.js";
import { TaskQueue } from "../../concurrency/task-queue.js";
import {
  type HostEnvironment,
  hostEnvironment,
  settingLayers,
  userFolders,
} from "../../config/environment.js";
import { type IsolationLevel, resolveSettings, type Settings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import { assess } from "../../isolation/levels.js";
import { requireOwnFiles } from "../../isolation/own-files.js";
import type { REPLConfig, SandboxInfo } from "../backend.js";
import { unavailable } from "../host/start-failure.js";
import { wireLimits } from "../host/wire-limits.js";
import { abortable, splitConfig, type Wishes } from "../options.js";
import { closedError } from "../session/checks.js";
import { type SessionFactory, SessionLease } from "../session/lease.js";
import { refuseBelow, refuseWithoutWalls } from "../session/minimum-isolation.js";
import { PythonSandbox } from "../session/sandbox.js";
import type { Session } from "../session/session.js";
import { openDirectSession, ThreadDeadline } from "./direct.js";
import { findDistribution } from "./distribution.js";
import { type InterpreterPlan, PyodideInterpreter } from "./inside/interpreter.js";
import type { PyodideFiles } from "./launch-plan.js";
import { Launcher } from "./launcher.js";
import { type ProcessLease, ProcessPool } from "./process-pool.js";
import { DirectPyodideSandbox, PyodideSandbox } from "./sandbox.js";
import { contentOf, SnapshotStore, type StoredMemory } from "./snapshot.js";
import { gatherWheels } from "./wheels.js";

/** What a process without walls can have here: its limits are set by a program of Linux. */
const BARE_LEVEL: IsolationLevel = process.platform === "linux" ? "L1" : "L0";

export interface PyodideRuntimeOptions {
  /** False to treat the machine as one without bubblewrap. */
  readonly walls?: boolean;
  readonly hostEnvironment?: HostEnvironment;
  /** Where snapshots and packages are kept. */
  readonly cache?: string;
  /** False to start every session as `loadPyodide()` does. */
  readonly snapshots?: boolean;
}

/** Holds what sandboxes in WebAssembly share: the wall's parts, snapshots, and spare sessions. */
export class PyodideRuntime implements AsyncDisposable {
  readonly #hasWalls: boolean;
  readonly #hostEnvironment: HostEnvironment;
  readonly #cache: string;
  readonly #hasSnapshots: boolean;
  readonly #layers = settingLayers();
  readonly #pools = new Map<string, Promise<ProcessPool>>();
  readonly #launchers = new Map<boolean, Promise<Launcher>>();
  readonly #prepared = new Set<Launcher>();
  readonly #sessions = new Set<Session>();
  readonly #loads = new TaskQueue();
  readonly #sweep = () => {
    for (const launcher of this.#prepared) launcher[Symbol.dispose]();
  };
  #isClosed = false;

  constructor(options: PyodideRuntimeOptions = {}) {
    this.#hasWalls = options.walls ?? process.platform === "linux";
    this.#hostEnvironment = options.hostEnvironment ?? hostEnvironment();
    this.#hasSnapshots = options.snapshots ?? true;
    this.#cache = options.cache ?? join(userFolders().cache, "pyodide");
  }

  /** `chosen` is the reason why this backend was selected. */
  async createSandbox(
    config: REPLConfig = {},
    chosen?: string,
  ): Promise<PyodideSandbox | DirectPyodideSandbox> {
    const wishes = splitConfig(config);
    const settings = resolveSettings(wishes.options, this.#layers);
    refuseUnsupported(wishes, settings);
    const { callbacks } = wishes;
    const sessions = settings.useWorker
      ? this.#inProcess(settings, chosen)
      : this.#direct(settings, chosen);
    const start = settings.useWorker
      ? PythonSandbox.open(PyodideSandbox, sessions, settings, callbacks)
      : PythonSandbox.open(DirectPyodideSandbox, sessions, settings, callbacks);
    return abortable<PyodideSandbox | DirectPyodideSandbox>(start, config.signal);
  }

  /** Isolated. Only the first start may fall back to none, if `minIsolation` allows it. */
  #inProcess(settings: Settings, chosen: string | undefined): SessionFactory {
    let why = this.#hasWalls ? undefined : leftOut();
    let hadWalls = false;
    const open = async (): Promise<SessionLease> => {
      if (why !== undefined) return this.#bare(settings, why, chosen);
      try {
        const pool = await this.#poolFor(settings, true);
        const process = await pool.acquire();
        hadWalls = true;
        return leaseOf(settings, process, "bubblewrap and user namespaces work", { chosen });
      } catch (error) {
        if (hadWalls || !isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
        why = error;
        return open();
      }
    };
    return { open };
  }

  async #bare(settings: Settings, why: CellarError, chosen?: string): Promise<SessionLease> {
    refuseWithoutWalls(settings, BARE_LEVEL, why);
    const pool = await this.#poolFor(settings, false);
    return leaseOf(settings, await pool.acquire(), why.message, { chosen });
  }

  /** In the caller's own thread. */
  #direct(settings: Settings, chosen: string | undefined): SessionFactory {
    const open = async () => {
      const isolation = assess({
        limits: { ok: false, detail: "Pyodide runs in the caller's own process" },
      });
      const why = unavailable("useWorker: false runs Python in your own thread", "own-thread");
      refuseWithoutWalls(settings, isolation.level, why);
      const { session, python, reason } = await this.#loads.run(() => this.#load(settings));
      const process = { session, isolation, python, reason };
      return leaseOf(settings, process, "useWorker is false", { chosen, mode: "direct" });
    };
    return { open };
  }

  /** One at a time: while one is loaded, WebAssembly is not quite as usual in this thread. */
  async #load(settings: Settings): Promise<Omit<ProcessLease, "isolation">> {
    if (this.#isClosed) throw closedError("the runtime was shut down");
    const { files, snapshots, isRemote } = await this.#supplies(settings);
    if (isRemote) throw remoteCode();
    const limits = wireLimits(settings.limits);
    const plan = {
      distribution: files.distribution,
      runner: join(files.packageRoot, "python", "cellar_runner"),
      wheels: files.wheels,
      packages: settings.packages,
      maxBytes: limits.memory_mb * 1024 * 1024,
    };
    const stored = await snapshots.find();
    const isModel = "reason" in stored;
    const deadline = new ThreadDeadline(settings.grace);
    const interpreter = await this.#open(plan, stored, () => deadline.enforce());
    if (isModel) snapshots.save(interpreter.packMemory());
    else interpreter.writeRunner(plan.runner);
    await interpreter.install(plan.packages);
    const { session, python } = await openDirectSession(interpreter, limits, deadline);
    this.#sessions.add(session);
    session.gone.then(() => this.#sessions.delete(session));
    return { session, python, reason: isModel ? stored.reason : "started from a snapshot" };
  }

  async #open(
    plan: InterpreterPlan,
    stored: StoredMemory | { readonly reason: string },
    look: () => void,
  ): Promise<PyodideInterpreter> {
    if ("reason" in stored) return PyodideInterpreter.open(plan, { isModel: true }, look);
    const descriptor = openSync(stored.file, "r");
    try {
      return await PyodideInterpreter.open(
        plan,
        { stored: { descriptor, offset: stored.offset } },
        look,
      );
    } finally {
      closeSync(descriptor);
    }
  }

  /** Starts the spare sessions for these settings. */
  async warm(config: REPLConfig = {}): Promise<void> {
    const settings = resolveSettings(splitConfig(config).options, this.#layers);
    const pool = await keepingAlive(this.#poolFor(settings, this.#hasWalls));
    await keepingAlive(pool.warm());
  }

  #poolFor(settings: Settings, hasWalls: boolean): Promise<ProcessPool> {
    if (this.#isClosed) return Promise.reject(closedError("the runtime was shut down"));
    const { limits, packages, indexURL, spares } = settings;
    const key = JSON.stringify([hasWalls, limits, packages, indexURL, spares]);
    const known = this.#pools.get(key) ?? this.#build(settings, hasWalls);
    this.#pools.set(key, known);
    known.catch(() => this.#pools.delete(key));
    return known;
  }

  async #build(settings: Settings, hasWalls: boolean): Promise<ProcessPool> {
    const [launcher, { files, snapshots }] = await Promise.all([
      this.#launcherFor(hasWalls),
      this.#supplies(settings),
    ]);
    return new ProcessPool({
      settings,
      hostEnvironment: this.#hostEnvironment,
      launcher,
      files,
      snapshots: this.#hasSnapshots ? snapshots : undefined,
    });
  }

  async #supplies({
    indexURL,
    packages,
  }: Settings): Promise<{ files: PyodideFiles; snapshots: SnapshotStore; isRemote: boolean }> {
    const { packageRoot } = this.#hostEnvironment;
    requireOwnFiles(packageRoot, "pyodide");
    const distribution = await findDistribution(indexURL, this.#cache);
    const wheels = await gatherWheels(distribution, packages, this.#cache);
    const snapshots = new SnapshotStore(this.#cache, [
      distribution.key,
      contentOf(join(packageRoot, "python", "cellar_runner")),
      process.versions.node,
      process.versions.v8,
      process.arch,
    ]);
    const files = { packageRoot, distribution: distribution.folder, wheels };
    return { files, snapshots, isRemote: distribution.isRemote };
  }

  #launcherFor(hasWalls: boolean): Promise<Launcher> {
    const known = this.#launchers.get(hasWalls);
    if (known !== undefined) return known;
    const made = Launcher.prepare(this.#hostEnvironment, hasWalls);
    this.#launchers.set(hasWalls, made);
    made.then(
      (launcher) => {
        if (this.#prepared.size === 0) process.on("exit", this.#sweep);
        this.#prepared.add(launcher);
      },
      () => this.#launchers.delete(hasWalls),
    );
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const session of this.#sessions) session.close();
    const pool = await Promise.allSettled(this.#pools.values());
    await keepingAlive(
      Promise.all(pool.map((each) => (each.status === "fulfilled" ? each.value.close() : null))),
    );
    await Promise.allSettled(this.#launchers.values());
    this.#sweep();
    process.off("exit", this.#sweep);
  }
}

function leaseOf(
  settings: Settings,
  { session, isolation, python, reason }: ProcessLease,
  why: string,
  { chosen, mode = "worker" }: { chosen: string | undefined; mode?: SandboxInfo["mode"] },
): SessionLease {
  try {
    refuseBelow(settings, isolation);
  } catch (error) {
    session.close();
    throw error;
  }
  const info: SandboxInfo = {
    backend: "pyodide",
    mode,
    isolation: { level: isolation.level, missing: isolation.missing },
    python: { version: python, executable: "pyodide" },
    reason: [...(chosen === undefined ? [] : [chosen]), why, `Pyodide: ${reason}`].join("; "),
  };
  return new SessionLease(session, { info });
}

function remoteCode(): CellarError {
  return new CellarError(
    "UNSUPPORTED",
    "useWorker: false does not run a Pyodide from a web server in your process",
    {
      remedy: "Set useWorker to true, or set indexURL to a folder.",
    },
  );
}

function leftOut(): CellarError {
  return process.platform === "linux"
    ? unavailable("bubblewrap was disabled by the caller", "left-out")
    : unavailable(`bubblewrap needs Linux, and this is ${process.platform}`, "platform");
}

function refuseUnsupported({ mounts }: Wishes, { network, pids }: Settings): void {
  if (mounts.length > 0) {
    const remedy = 'Pass data with initialize() or setVariable(), or use the backend "native".';
    throw unsupported("mounts: it has its own file system", remedy);
  }
  if (pids === "host") {
    const remedy = 'Leave pids at "own", or use the backend "native".';
    throw unsupported('pids: "host"', remedy, { option: "pids" });
  }
  if (network !== "none") {
    const remedy = 'Leave network at "none", or use the backend "native".';
    throw unsupported("network access", remedy, { option: "network" });
  }
}

function unsupported(what: string, remedy: string, details = {}): CellarError {
  return new CellarError("UNSUPPORTED", `Pyodide does not support ${what}`, { remedy, details });
}
