import type { Settings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Mount } from "../../isolation/bwrap.js";
import type { IsolationLevel, IsolationReport } from "../../isolation/levels.js";
import type { SandboxInfo } from "../backend.js";
import { makeSessionDir, type SessionDir } from "../host/session-dir.js";
import { unavailable } from "../host/start-failure.js";
import { wireLimits } from "../host/wire-limits.js";
import { refuseUnwritable } from "../host/writable-mounts.js";
import type { LargeContext } from "../session/context/context.js";
import { type SessionFactory, SessionLease } from "../session/lease.js";
import { refuseBelow, refuseWithoutWalls } from "../session/minimum-isolation.js";
import type { Session } from "../session/session.js";
import type { SingleProcesses, SingleSession } from "./wall/single-process.js";
import type { ZygoteHost } from "./zygote/zygote-host.js";

/** The strongest level that a session without walls can have here. */
const PLAIN_LEVEL: IsolationLevel = process.platform === "win32" ? "L0" : "L1";

export interface SessionOrder {
  readonly settings: Settings;
  readonly mounts: readonly Mount[];
  readonly dir: SessionDir | undefined;
  readonly chosen: string | undefined;
  /** Undefined where there are no walls, or none between its processes are wanted. */
  readonly zygotes: ZygoteHost | undefined;
  readonly singles: SingleProcesses;
}

/** Opens the sessions of one native sandbox: behind walls, or without where that is allowed. */
export class SessionOpener implements SessionFactory {
  readonly #order: SessionOrder;
  #wasOpened = false;
  #hadWalls = false;
  /** Why its sessions are plain processes, where they are. */
  #withoutWalls: CellarError | undefined;

  constructor(order: SessionOrder, hasWalls: boolean) {
    this.#order = order;
    this.#withoutWalls = hasWalls ? undefined : noWalls();
  }

  async open(context?: LargeContext): Promise<SessionLease> {
    const { dir, zygotes } = this.#order;
    // The files of a notebook's session are its own: only it knows what another one needs to find.
    if (dir !== undefined && dir.isReplaceable !== true && this.#wasOpened) {
      throw new CellarError("SESSION_LOST", "the session of this notebook has ended");
    }
    this.#wasOpened = true;
    if (this.#withoutWalls !== undefined) return this.#openPlain(this.#withoutWalls);
    return zygotes === undefined ? this.#openSingle() : this.#openForked(zygotes, context);
  }

  /** Forked by a zygote. Only a first start that finds no walls may do without them. */
  async #openForked(zygotes: ZygoteHost, context?: LargeContext): Promise<SessionLease> {
    const { settings, mounts, dir } = this.#order;
    try {
      const limits = wireLimits(settings.limits);
      const placed = await zygotes.acquire(limits, settings.keepCheckpoints, context, dir);
      this.#hadWalls = true;
      placed.session.reachesOut = settings.network !== "none" || mounts.some((m) => !m.readonly);
      refuseWeak(settings, placed);
      await refuseUnwritable(placed.session, mounts);
      const info = this.#explained(placed.info);
      return new SessionLease(placed.session, { info, context, canHoldContexts: true });
    } catch (error) {
      if (this.#hadWalls || !isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
      this.#withoutWalls = error;
      return this.#openPlain(error);
    }
  }

  /** Behind a wall of its own, with none between its processes. */
  async #openSingle(): Promise<SessionLease> {
    const { settings, mounts, singles } = this.#order;
    refuseSharedPidsList(settings);
    const refuse = (isolation: IsolationReport) => refuseBelow(settings, isolation);
    const started = await singles.startWalled(settings, mounts, this.#workspace(), refuse);
    await refuseUnwritable(started.session, mounts);
    return this.#leaseOf(started, 'the option pids is "host"');
  }

  async #openPlain(why: CellarError): Promise<SessionLease> {
    const { settings, mounts, singles } = this.#order;
    refuseWithoutWalls(settings, PLAIN_LEVEL, why);
    refuseMounts(mounts, why);
    refuseUnwalledList(settings, why);
    const started = await singles.startPlain(settings, this.#workspace());
    refuseWeak(settings, started);
    return this.#leaseOf(started, why.message);
  }

  #workspace(): string | undefined {
    return this.#order.dir && makeSessionDir(this.#order.dir);
  }

  #leaseOf({ session, interpreter, isolation }: SingleSession, why: string): SessionLease {
    const { version, executable, reason } = interpreter;
    const info = this.#explained({
      backend: "native",
      mode: "plain",
      isolation: { level: isolation.level, missing: isolation.missing },
      python: { version, executable },
      reason: `${why}; Python: ${reason}`,
    });
    return new SessionLease(session, { info });
  }

  #explained(info: SandboxInfo): SandboxInfo {
    const { chosen } = this.#order;
    return chosen === undefined ? info : { ...info, reason: `${chosen}; ${info.reason}` };
  }
}

function noWalls(): CellarError {
  return process.platform === "linux"
    ? unavailable("the caller turned bubblewrap off", "left-out")
    : unavailable(`bubblewrap needs Linux, and this is ${process.platform}`, "platform");
}

function refuseMounts(mounts: readonly Mount[], why: CellarError): void {
  if (mounts.length === 0) return;
  throw new CellarError(
    "UNSUPPORTED",
    "mounts need a sandbox, but this session is a plain process",
    {
      remedy: "Leave them out: a plain process sees the host's folders where they are.",
      details: { reason: why.message },
    },
  );
}

function refuseSharedPidsList({ network }: Settings): void {
  if (typeof network === "string") return;
  throw new CellarError("UNSUPPORTED", 'a network allow-list needs pids: "own"', {
    remedy: 'Leave pids at "own", or set network to "none" or "host".',
    details: { option: "pids" },
  });
}

function refuseUnwalledList({ network }: Settings, why: CellarError): void {
  if (typeof network === "string") return;
  throw new CellarError(
    "UNSUPPORTED",
    "a network allow-list needs a sandbox, but this session is a plain process",
    {
      remedy: "Leave network out: a plain process has the host's network anyway.",
      details: { option: "network", reason: why.message },
    },
  );
}

function refuseWeak(
  settings: Settings,
  { isolation, session }: { isolation: IsolationReport; session: Session },
): void {
  try {
    refuseBelow(settings, isolation);
  } catch (error) {
    session.close();
    throw error;
  }
}
