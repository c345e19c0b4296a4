import { closeSync, openSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { keepingAlive } from "../../../concurrency/keep-alive.js";
import type { HostEnvironment } from "../../../config/environment.js";
import type { Settings } from "../../../config.js";
import type { Mount } from "../../../isolation/bwrap.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import { assess, type IsolationReport } from "../../../isolation/levels.js";
import { remedyFor } from "../../../isolation/remedies.js";
import { findInterpreter } from "../../host/find-interpreter.js";
import type { RunFolder } from "../../host/run-folder.js";
import { explainStartFailure } from "../../host/start-failure.js";
import { wireLimits } from "../../host/wire-limits.js";
import type { Session } from "../../session/session.js";
import { shutDown } from "../shut-down.js";
import { processBehind } from "./single-wall.js";
import { findWallParts } from "./wall-parts.js";

export interface SingleSession {
  readonly session: Session;
  readonly interpreter: Interpreter;
  readonly isolation: IsolationReport;
}

/** Sessions of one process each, with a wall around it or without: no zygote, no checkpoints. */
export class SingleProcesses {
  readonly #environment: HostEnvironment;
  readonly #folders: Set<Disposable>;
  readonly #sessions = new Set<Session>();
  readonly #reports = new Map<string, Promise<IsolationReport>>();
  #isClosed = false;

  /** `folders` are those that must not be left behind when this process ends. */
  constructor(environment: HostEnvironment, folders: Set<Disposable>) {
    this.#environment = environment;
    this.#folders = folders;
  }

  async startPlain(settings: Settings, workspace: string | undefined): Promise<SingleSession> {
    const hostEnvironment = this.#environment;
    const interpreter = await findInterpreter(settings, hostEnvironment);
    const limits = wireLimits(settings.limits);
    const { startPlain } = await plainly();
    this.#refuseClosed();
    const { session, facts } = await startPlain({
      interpreter,
      limits,
      workspace,
      hostEnvironment,
    });
    this.#keep(session);
    return { session, interpreter, isolation: assess(facts) };
  }

  /** Behind a wall that shares the host's process numbers; `refuse` judges what that wall is worth. */
  async startWalled(
    settings: Settings,
    mounts: readonly Mount[],
    workspace: string | undefined,
    refuse: (isolation: IsolationReport) => void,
  ): Promise<SingleSession> {
    const isolation = await this.#probed(settings);
    refuse(isolation);
    this.#refuseClosed();
    const { session, interpreter } = await this.#start(settings, mounts, workspace);
    this.#keep(session);
    return { session, interpreter, isolation };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const sessions = [...this.#sessions];
    for (const session of sessions) session.close();
    await Promise.all(sessions.map((session) => keepingAlive(session.gone)));
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw shutDown();
  }

  #keep(session: Session): void {
    this.#sessions.add(session);
    session.gone.then(() => this.#sessions.delete(session));
    if (!this.#isClosed) return;
    session.close();
    throw shutDown();
  }

  async #start(settings: Settings, mounts: readonly Mount[], workspace: string | undefined) {
    const { startPlain } = await plainly();
    const parts = await findWallParts(settings, this.#environment);
    const { folder, interpreter } = parts;
    this.#folders.add(folder);
    const exchange = openExchange(folder);
    const tidy = () => {
      closeSync(exchange);
      folder[Symbol.dispose]();
      this.#folders.delete(folder);
    };
    try {
      const wall = { ...parts, mounts, workspace, exchange };
      const limits = wireLimits(settings.limits);
      const plan = { interpreter, hostEnvironment: this.#environment, limits, wall };
      const { session, pid } = await startPlain(plan);
      session.gone.then(tidy);
      return { session, pid, interpreter };
    } catch (error) {
      tidy();
      throw explainStartFailure(error);
    }
  }

  /** Of one session for all of its kind: trying the walls leaves traces inside. */
  #probed(settings: Settings): Promise<IsolationReport> {
    const key = JSON.stringify([settings.python, settings.network]);
    const known = this.#reports.get(key);
    if (known !== undefined) return known;
    const report = this.#probe(settings);
    this.#reports.set(key, report);
    report.catch(() => this.#reports.delete(key));
    return report;
  }

  async #probe(settings: Settings): Promise<IsolationReport> {
    const { probeWalls } = await import("./probe.js");
    const { session, pid } = await this.#start(settings, [], undefined);
    try {
      const facts = await probeWalls({
        session,
        zygotePid: processBehind(pid),
        cgroups: {
          version: undefined,
          missing: "a session with the host's process numbers has no cgroup",
          remedy: remedyFor("cgroups"),
        },
        temporary: this.#environment.temporary,
        environmentNames: this.#environment.environmentNames,
      });
      return assess(facts);
    } finally {
      session.close();
      await session.gone;
    }
  }
}

/** Loaded when needed: most sessions come from a zygote. */
const plainly = () => import("./plain.js");

/** A file without a name: nothing can put another one in its place. */
function openExchange(folder: RunFolder): number {
  const path = join(folder.path, "exchange");
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}
