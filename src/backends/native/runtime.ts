import { keepingAlive } from "../../concurrency/keep-alive.js";
import { type HostEnvironment, hostEnvironment, settingLayers } from "../../config/environment.js";
import { checkNames, requireOptions } from "../../config/kinds.js";
import { resolveSettings, type Settings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Mount } from "../../isolation/bwrap.js";
import { assess, type IsolationReport } from "../../isolation/levels.js";
import type { REPLConfig } from "../backend.js";
import { findInterpreter } from "../host/find-interpreter.js";
import { makeSessionDir, type SessionDir } from "../host/session-dir.js";
import { unavailable } from "../host/start-failure.js";
import { wireLimits } from "../host/wire-limits.js";
import { refuseUnwritable } from "../host/writable-mounts.js";
import { abortable, splitConfig } from "../options.js";
import { closedError } from "../session/checks.js";
import { explained, lodge, type SessionFactory } from "../session/lease.js";
import { refuseBelow, refuseWithoutWalls } from "../session/minimum.js";
import { PythonSandbox } from "../session/sandbox.js";
import type { Session } from "../session/session.js";
import type { StatefulRuntime } from "../stateful-sandbox.js";
import { NativePythonSandbox } from "./sandbox.js";
import { PLAIN_LEVEL, startPlain } from "./wall/plain.js";
import { probeLone, type SingleProcessPlan, startLone } from "./wall/single-process.js";
import { type Placement, ZygoteHost } from "./zygote/zygote-host.js";

const MAX_REMEMBERED = 100;

/** Each kind of session has a zygote, and a zygote with its pool costs hundreds of megabytes. */
const MAX_ZYGOTES = 4;

export interface RuntimeOptions {
  /** False for a machine that is to be taken for one without bubblewrap. */
  readonly walls?: boolean;
  readonly hostEnvironment?: HostEnvironment;
}

/** Holds the zygotes of a process; sandboxes that are alike share one. */
export class NativeRuntime implements StatefulRuntime, AsyncDisposable {
  readonly #hasWalls: boolean;
  readonly #hostEnvironment: HostEnvironment;
  readonly #nurseries = new Map<string, ZygoteHost>();
  readonly #layers = settingLayers();
  readonly #resolved = new Map<string, Settings>();
  readonly #usual = new WeakMap<Settings, ZygoteHost>();
  readonly #plainFamilies = new Set<Session>();
  readonly #reports = new Map<string, Promise<IsolationReport>>();
  readonly #folders = new Set<Disposable>();
  readonly #sweep = () => {
    for (const folder of this.#folders) folder[Symbol.dispose]();
  };
  #isClosed = false;

  constructor(options: RuntimeOptions = {}) {
    checkNames("NativeRuntime", requireOptions("the options of a runtime", options), {
      walls: true,
      hostEnvironment: true,
    });
    this.#hasWalls = options.walls ?? process.platform === "linux";
    this.#hostEnvironment = options.hostEnvironment ?? hostEnvironment();
  }

  /** `chosen` tells why it is this backend, where somebody had the choice. */
  async createSandbox(
    config: REPLConfig = {},
    chosen?: string,
    room?: SessionDir,
  ): Promise<NativePythonSandbox> {
    const { options, mounts, callbacks } = splitConfig(config);
    const settings = this.#settings(options);
    refuseAllowList(settings, room);
    const born = this.#openSession(settings, mounts, room);
    const openSession = explained(
      room === undefined || room.isReplaceable === true ? born : once(born),
      chosen,
    );
    return abortable(
      PythonSandbox.open(NativePythonSandbox, openSession, settings, callbacks),
      config.signal,
    );
  }

  #openSession(settings: Settings, mounts: readonly Mount[], room?: SessionDir): SessionFactory {
    if (!this.#hasWalls) return this.#plain(settings, mounts, withoutWalls(), room);
    if (settings.pids === "own") return this.#walled(settings, mounts, room);
    return this.#lone(settings, mounts, room);
  }

  /** Behind a wall of its own, which has none between the processes. */
  #lone(settings: Settings, mounts: readonly Mount[], room?: SessionDir): SessionFactory {
    return async () => {
      refuseLoneList(settings);
      const workspace = room && makeSessionDir(room);
      const around = { hostEnvironment: this.#hostEnvironment, folders: this.#folders };
      const isolation = await this.#probed({
        settings,
        mounts: [],
        workspace: undefined,
        ...around,
      });
      refuseBelow(settings, isolation);
      if (this.#isClosed) throw closedError("the runtime was shut down");
      const { session, interpreter } = await startLone({ settings, mounts, workspace, ...around });
      this.#keep(session);
      await refuseUnwritable(session, mounts);
      return lodge(session, {
        backend: "native",
        mode: "plain",
        isolation: { level: isolation.level, missing: isolation.missing },
        python: { version: interpreter.version, executable: interpreter.executable },
        reason: `the option pids is "host"; Python: ${interpreter.reason}`,
      });
    };
  }

  /** Of one session for all of its kind: trying the walls leaves traces inside. */
  #probed(plan: SingleProcessPlan): Promise<IsolationReport> {
    const { python, network } = plan.settings;
    const key = JSON.stringify([python, network]);
    const known = this.#reports.get(key);
    if (known !== undefined) return known;
    const report = probeLone(plan);
    this.#reports.set(key, report);
    report.catch(() => this.#reports.delete(key));
    return report;
  }

  #keep(session: Session): void {
    this.#plainFamilies.add(session);
    session.gone.then(() => this.#plainFamilies.delete(session));
    if (!this.#isClosed) return;
    session.close();
    throw closedError("the runtime was shut down");
  }

  /** Behind walls. Only a first start that finds none may go without, where that was allowed. */
  #walled(settings: Settings, mounts: readonly Mount[], room?: SessionDir): SessionFactory {
    const zygotes = this.zygotes(settings, mounts, room?.root);
    let plain: SessionFactory | undefined;
    let hadWalls = false;
    return async (context) => {
      if (plain !== undefined) return plain();
      let placement: Placement;
      try {
        const limits = wireLimits(settings.limits);
        placement = await zygotes.acquire(limits, settings.keepCheckpoints, context, room);
      } catch (error) {
        if (hadWalls || !isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
        plain = this.#plain(settings, mounts, error, room);
        return plain();
      }
      hadWalls = true;
      refuseWeak(settings, placement);
      await refuseUnwritable(placement.session, mounts);
      return lodge(placement.session, placement.info, { context, canHoldContexts: true });
    };
  }

  #plain(
    settings: Settings,
    mounts: readonly Mount[],
    why: CellarError,
    room?: SessionDir,
  ): SessionFactory {
    return async () => {
      refuseWithoutWalls(settings, PLAIN_LEVEL, why);
      refuseMounts(mounts, why);
      refuseUnwalledList(settings, why);
      const interpreter = await findInterpreter(settings, this.#hostEnvironment);
      const limits = wireLimits(settings.limits);
      const workspace = room && makeSessionDir(room);
      const plan = { interpreter, limits, workspace, hostEnvironment: this.#hostEnvironment };
      if (this.#isClosed) throw closedError("the runtime was shut down");
      const { session, facts } = await startPlain(plan);
      this.#keep(session);
      const isolation = assess(facts);
      refuseWeak(settings, { isolation, session });
      return lodge(session, {
        backend: "native",
        mode: "plain",
        isolation: { level: isolation.level, missing: isolation.missing },
        python: { version: interpreter.version, executable: interpreter.executable },
        reason: `${why.message}; Python: ${interpreter.reason}`,
      });
    };
  }

  /** Makes a room for a sandbox of this kind; quickly, where one with a session in it waits. */
  prepareDir(config: REPLConfig, room: SessionDir): void {
    const { options, mounts } = splitConfig(config);
    const settings = this.#settings(options);
    const isMade = this.#hasWalls && this.zygotes(settings, mounts, room.root).claim(room);
    if (!isMade) makeSessionDir(room);
  }

  /** Sandboxes are mostly made alike, and checking their settings anew would cost as much as a cell. */
  #settings(options: object): Settings {
    const key = JSON.stringify(options);
    const known = this.#resolved.get(key);
    if (known !== undefined) return known;
    const settings = resolveSettings(options, this.#layers);
    if (this.#resolved.size < MAX_REMEMBERED) this.#resolved.set(key, settings);
    return settings;
  }

  /** The maker of sessions of this kind. */
  zygotes(settings: Settings, mounts: readonly Mount[] = [], rooms?: string): ZygoteHost {
    if (this.#isClosed) throw closedError("the runtime was shut down");
    const isUsual = mounts.length === 0 && rooms === undefined;
    const usual = isUsual ? this.#usual.get(settings) : undefined;
    if (usual?.isRunning === true) return usual;
    const { python, preload, limits, poolSize, keepCheckpoints } = settings;
    const sharesNetwork = settings.network === "host";
    const zygote = [python, preload, mounts, rooms, sharesNetwork];
    const key = JSON.stringify([...zygote, limits, poolSize, keepCheckpoints]);
    const known = this.#nurseries.get(key);
    if (known?.isRunning !== true) this.#makePlace();
    if (known !== undefined) return known;
    const made = new ZygoteHost({
      settings,
      mounts,
      rooms,
      hostEnvironment: this.#hostEnvironment,
      folders: this.#folders,
    });
    if (this.#nurseries.size === 0) process.on("exit", this.#sweep);
    this.#nurseries.set(key, made);
    if (isUsual) this.#usual.set(settings, made);
    return made;
  }

  /** Another zygote is about to start: of too many, those that served longest ago let go. */
  #makePlace(): void {
    const running = [...this.#nurseries.values()]
      .filter((zygotes) => zygotes.isRunning)
      .sort((a, b) => a.lastUsed - b.lastUsed);
    for (const zygotes of running.slice(0, Math.max(0, running.length - MAX_ZYGOTES + 1))) {
      zygotes.rest();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const plain = [...this.#plainFamilies];
    for (const session of plain) session.close();
    const gone = plain.map((session) => keepingAlive(session.gone));
    await Promise.all([
      ...[...this.#nurseries.values()].map((zygotes) => zygotes.close()),
      ...gone,
    ]);
    process.off("exit", this.#sweep);
  }
}

/** What lies in a room belongs to its keeper, who alone knows what a new session is to find there. */
function once(openSession: SessionFactory): SessionFactory {
  let wasBorn = false;
  return (context) => {
    if (wasBorn) {
      return Promise.reject(
        new CellarError("SESSION_LOST", "the session of this notebook has ended"),
      );
    }
    wasBorn = true;
    return openSession(context);
  };
}

function withoutWalls(): CellarError {
  return process.platform === "linux"
    ? unavailable("bubblewrap was left out by the caller", "left-out")
    : unavailable(`bubblewrap needs Linux, and this is ${process.platform}`, "platform");
}

function refuseMounts(mounts: readonly Mount[], why: CellarError): void {
  if (mounts.length === 0) return;
  throw new CellarError("UNSUPPORTED", "mounts need a sandbox, and this session has none", {
    remedy: "Leave them out: a plain process sees the host's folders where they are.",
    details: { reason: why.message },
  });
}

/** Whoever keeps the room keeps the proxy in it too. */
function refuseAllowList({ network }: Settings, room: SessionDir | undefined): void {
  if (typeof network === "string" || room?.hasEgress === true) return;
  throw new CellarError("UNSUPPORTED", "an allow-list of hosts needs a notebook", {
    remedy: 'Open a notebook with it, or set network to "none" or "host".',
    details: { option: "network" },
  });
}

function refuseLoneList({ network }: Settings): void {
  if (typeof network === "string") return;
  throw new CellarError("UNSUPPORTED", "an allow-list needs process numbers of the session's own", {
    remedy: 'Leave pids at "own", or set network to "none" or "host".',
    details: { option: "pids" },
  });
}

function refuseUnwalledList({ network }: Settings, why: CellarError): void {
  if (typeof network === "string") return;
  throw new CellarError("UNSUPPORTED", "an allow-list needs a sandbox, and this session has none", {
    remedy: "Leave network out: a plain process has the host's network anyway.",
    details: { option: "network", reason: why.message },
  });
}

function refuseWeak(
  settings: Settings,
  { isolation, session }: Pick<Placement, "isolation" | "session">,
): void {
  try {
    refuseBelow(settings, isolation);
  } catch (error) {
    session.close();
    throw error;
  }
}
