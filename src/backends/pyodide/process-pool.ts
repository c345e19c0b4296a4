import { randomBytes } from "node:crypto";
import type { HostEnvironment } from "../../config/environment.js";
import type { Settings } from "../../config.js";
import { describeError, isCellarError } from "../../errors.js";
import { assess, type Finding, type IsolationReport } from "../../isolation/levels.js";
import type { Limits } from "../../protocol/messages.js";
import { explainStartFailure } from "../host/start-failure.js";
import { wireLimits } from "../host/wire-limits.js";
import { closedError } from "../session/checks.js";
import type { Session } from "../session/session.js";
import type { LaunchOrder, PyodideFiles } from "./launch-plan.js";
import type { Launcher } from "./launcher.js";
import { factsOf } from "./probe.js";
import { openSession } from "./session.js";
import type { SnapshotStore } from "./snapshot.js";

/** A replacement that started at once would take processor time from the one just handed out. */
const REFILL_MS = 500;

/** What the programs around a process say when they fail. */
const WALL_WORDS = /^(bwrap|setpriv|prlimit): /m;

export interface ProcessLease {
  readonly session: Session;
  readonly isolation: IsolationReport;
  readonly python: string;
  /** How this session was started. */
  readonly reason: string;
}

export interface ProcessPoolOptions {
  readonly settings: Settings;
  readonly hostEnvironment: HostEnvironment;
  readonly launcher: Launcher;
  readonly files: PyodideFiles;
  /** Undefined to start without. */
  readonly snapshots: SnapshotStore | undefined;
}

/** Makes sessions of one kind, and keeps some ready ahead. */
export class ProcessPool {
  readonly #options: ProcessPoolOptions;
  readonly #limits: Limits;
  readonly #spares = new Set<Promise<ProcessLease>>();
  readonly #sessions = new Set<Session>();
  #network: Finding | undefined;
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ProcessPoolOptions) {
    this.#options = options;
    this.#limits = wireLimits(options.settings.limits);
  }

  /** An unused session: a spare one, or a new one. */
  async acquire(): Promise<ProcessLease> {
    for (const spare of this.#spares) {
      this.#spares.delete(spare);
      const lease = await spare.catch(() => undefined);
      if (lease?.session.isAlive === true) {
        this.#refillSoon();
        return lease;
      }
    }
    const lease = await this.#start();
    this.#refillSoon();
    return lease;
  }

  /** Starts the spare sessions and waits for them. */
  async warm(): Promise<void> {
    this.#fill();
    await Promise.all(this.#spares);
  }

  /** Ends every session; no new one is started. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    await Promise.allSettled(this.#spares);
    for (const session of this.#sessions) session.close();
    await Promise.all([...this.#sessions].map((session) => session.gone));
  }

  #refillSoon(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => this.#fill(), REFILL_MS);
    this.#refill.unref();
  }

  #fill(): void {
    while (!this.#isClosed && this.#spares.size < this.#options.settings.spares) {
      const spare = this.#start();
      this.#spares.add(spare);
      // The next acquire() reports the failure.
      spare.catch(() => this.#spares.delete(spare));
    }
  }

  /** Starts from the snapshot; without a usable one, starts without and makes one. */
  async #start(): Promise<ProcessLease> {
    const { snapshots } = this.#options;
    if (snapshots === undefined) return this.#launch("none", "snapshots were left out");
    const stored = await snapshots.find();
    if ("reason" in stored) return this.#launch("write", `${stored.reason}, so a new one was made`);
    try {
      return await this.#launch(stored, "started from a snapshot");
    } catch (error) {
      if (!isCellarError(error, "START_FAILED")) throw error;
      snapshots.remove();
      const why = `it did not start from its snapshot (${describeError(error.cause ?? error)})`;
      return this.#launch("write", `${why}, so a new one was made`);
    }
  }

  async #launch(memory: LaunchOrder["memory"], reason: string): Promise<ProcessLease> {
    const { launcher, files, settings, hostEnvironment, snapshots } = this.#options;
    if (this.#isClosed) throw closedError("the runtime was shut down");
    const id = randomBytes(12).toString("hex");
    const probe = {
      canary: launcher.targets.canary,
      port: this.#network === undefined ? launcher.targets.port : null,
    };
    const order = { files, limits: this.#limits, packages: settings.packages, memory, probe };
    const { child, group } = launcher.start(order, id);
    try {
      const opened = await openSession(child, this.#limits, id, () =>
        group.wasOutOfMemory ? { kind: "oom" } : undefined,
      );
      const { session } = opened;
      this.#sessions.add(session);
      session.gone.then(() => {
        this.#sessions.delete(session);
        group[Symbol.dispose]();
      });
      opened.memory.then((bytes) => keep(snapshots, bytes));
      if (this.#isClosed) {
        session.close();
        throw closedError("the runtime was shut down");
      }
      const facts = factsOf({
        report: opened.report,
        pid: opened.pid,
        isWalled: launcher.isWalled,
        environmentNames: hostEnvironment.environmentNames,
        groups: group.facts(),
        network: this.#network,
      });
      this.#network = facts.network;
      return { session, isolation: assess(facts), python: opened.python, reason };
    } catch (error) {
      group[Symbol.dispose]();
      const said = describeError(error);
      throw launcher.isWalled && WALL_WORDS.test(said.replace(/^.*?: /, ""))
        ? explainStartFailure(error)
        : error;
    }
  }
}

/** Without it the next start is slow, and nothing else is wrong. */
function keep(snapshots: SnapshotStore | undefined, bytes: Buffer | undefined): void {
  if (bytes === undefined || bytes.length === 0) return;
  try {
    snapshots?.save(bytes);
  } catch (error) {
    const message = `could not save Pyodide's snapshot: ${describeError(error)}`;
    process.emitWarning(message, { type: "CellarWarning" });
  }
}
