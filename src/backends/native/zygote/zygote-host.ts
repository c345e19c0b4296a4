import { statSync } from "node:fs";
import { join } from "node:path";
import { keepingAlive } from "../../../concurrency/keep-alive.js";
import type { HostEnvironment } from "../../../config/environment.js";
import type { Settings } from "../../../config.js";
import type { Mount } from "../../../isolation/bwrap.js";
import type { Interpreter } from "../../../isolation/interpreter.js";
import type { EarlyAnswer } from "../../../isolation/interpreter-question.js";
import type { IsolationReport } from "../../../isolation/levels.js";
import type { Limits } from "../../../protocol/messages.js";
import type { SandboxInfo } from "../../backend.js";
import { identityCount } from "../../host/identity.js";
import type { SessionDir } from "../../host/session-dir.js";
import { explainStartFailure } from "../../host/start-failure.js";
import type { LargeContext } from "../../session/context/context.js";
import type { Session } from "../../session/session.js";
import { shutDown } from "../shut-down.js";
import { compileRunner } from "../wall/bytecode.js";
import { startGroupedWall } from "../wall/grouped-wall.js";
import { findWallParts } from "../wall/wall-parts.js";
import type { Generation } from "./generation.js";
import type { SpawnOrder } from "./session-forker.js";
import type { ZygoteReport } from "./zygote.js";

/** A zygote's sessions share address layout and hash seeds, so it is replaced after this many. */
const SESSIONS_PER_ZYGOTE = 1000;

/** Looking at the environment for each new session would cost as much as handing one out. */
const STAMP_MS = 1000;

export interface ZygoteHostOptions {
  readonly settings: Settings;
  readonly mounts: readonly Mount[];
  /** The folder of session folders, where sessions may have any. */
  readonly sessionRoot?: string | undefined;
  readonly hostEnvironment: HostEnvironment;
  /** What the interpreter says of itself, where it was asked in advance. */
  readonly early?: EarlyAnswer | undefined;
  /** What must not be left behind when the process ends. */
  readonly folders: Set<Disposable>;
}

export interface Placement {
  readonly session: Session;
  readonly isolation: IsolationReport;
  readonly info: SandboxInfo;
}

/** Makes sessions of one kind: starts the zygote, repairs it, renews it when packages change. */
export class ZygoteHost {
  readonly #options: ZygoteHostOptions;
  /** Those that drain, with what looks whether they are empty. */
  readonly #retired = new Map<Generation, NodeJS.Timeout>();
  #current: Promise<Generation> | undefined;
  #present: Generation | undefined;
  #isClosed = false;
  #lastUsed = 0;

  constructor(options: ZygoteHostOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  get lastUsed(): number {
    return this.#lastUsed;
  }

  /** Lets the zygote go with its last session; the next one starts another. */
  async rest(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    const generation = await current?.catch(() => undefined);
    if (generation !== undefined) this.#retire(generation);
  }

  /** A session, warm when the pool has one; or one that starts with the context, or in a folder of the host. */
  async acquire(
    limits: Limits,
    keepCheckpoints: number,
    context?: LargeContext,
    dir?: SessionDir,
  ): Promise<Placement> {
    this.#lastUsed = performance.now();
    const order = { limits, keepCheckpoints, warmUp: false, dir };
    if (context !== undefined) return this.#withContext(context, order);
    const generation = await this.#generation();
    generation.made += 1;
    const { pool, spareDirs } = generation;
    const session = dir === undefined ? pool.take(limits, keepCheckpoints) : spareDirs.take(dir);
    return placed(generation, session);
  }

  /** Tries once more where the zygote ended while the context was read. */
  async #withContext(context: LargeContext, order: SpawnOrder, isLast = false): Promise<Placement> {
    const generation = await this.#generation();
    generation.made += 1;
    try {
      return placed(generation, await generation.templates.take(context, order));
    } catch (error) {
      if (this.#isClosed) throw shutDown();
      if (generation.zygote.isAlive || isLast) throw error;
      return this.#withContext(context, order, true);
    }
  }

  /** Whether a spare session was moved into this new folder. */
  claim(dir: SessionDir): boolean {
    return this.#present?.zygote.isAlive === true && this.#present.spareDirs.claim(dir);
  }

  /** Starts the zygote and fills the pool; what `doctor` and benchmarks want to see. */
  async warm(): Promise<{
    report: ZygoteReport;
    isolation: IsolationReport;
    interpreter: Interpreter;
    pid: number;
  }> {
    const generation = await keepingAlive(this.#generation());
    const { report, isolation, interpreter, pool, zygote } = generation;
    await keepingAlive(pool.fill());
    return { report, isolation, interpreter, pid: zygote.pid ?? 0 };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const current = await keepingAlive(Promise.resolve(this.#current).catch(() => undefined));
    for (const timer of this.#retired.values()) clearInterval(timer);
    const generations = [...(current === undefined ? [] : [current]), ...this.#retired.keys()];
    await keepingAlive(Promise.all(generations.map((generation) => generation.close())));
  }

  async #generation(): Promise<Generation> {
    const awaited = this.#current;
    const current = await awaited?.catch(() => undefined);
    if (this.#isClosed) throw shutDown();
    if (current?.zygote.isAlive === true && !this.#isStale(current)) return current;
    // Of all callers that waited for it, the first starts the successor.
    if (this.#current !== awaited) return this.#generation();
    if (current !== undefined) this.#retire(current);
    const next = this.#start();
    this.#current = next;
    const started = await next;
    this.#present = started;
    if (this.#isClosed) throw shutDown();
    return started;
  }

  #isStale(generation: Generation): boolean {
    if (generation.made >= SESSIONS_PER_ZYGOTE) return true;
    if (generation.place !== placeOf(this.#options.sessionRoot)) return true;
    const now = performance.now();
    if (now < generation.checkAfter) return false;
    generation.checkAfter = now + STAMP_MS;
    const { interpreter, stamp } = generation;
    return stamp !== environmentStamp(interpreter, this.#options.hostEnvironment);
  }

  /** Drains: no new sessions, and the end when the last one is closed. */
  #retire(generation: Generation): void {
    if (this.#present === generation) this.#present = undefined;
    generation.pool.close();
    generation.spareDirs.close();
    const closeWhenEmpty = () => {
      const { zygote, templates } = generation;
      if (zygote.forker.sessions + templates.sessions > 0 && zygote.isAlive) return;
      clearInterval(timer);
      this.#retired.delete(generation);
      generation.close();
    };
    const timer = setInterval(closeWhenEmpty, 500).unref();
    this.#retired.set(generation, timer);
    closeWhenEmpty();
  }

  async #start(): Promise<Generation> {
    const { settings, mounts, sessionRoot, hostEnvironment, early, folders } = this.#options;
    const stores = sessionRoot === undefined ? [] : [sessionRoot];
    const parts = await findWallParts(settings, hostEnvironment, stores, early);
    const { interpreter, runner, folder, identity } = parts;
    const owner = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    folders.add(folder);
    const undo = [
      () => {
        folder[Symbol.dispose]();
        folders.delete(folder);
      },
    ] as (() => unknown)[];
    const close = async () => {
      for (const step of undo.splice(0).reverse()) await step();
    };
    try {
      const place = placeOf(sessionRoot);
      const grouped = await startGroupedWall(
        {
          ...parts,
          mounts,
          sessionRoot,
          // The owners of what is mounted know one id only.
          identityCount: identity === undefined || mounts.length > 0 ? 1 : identityCount(identity),
        },
        { owner, path: hostEnvironment.path, userManager: hostEnvironment.userManager },
      );
      const { wall, cgroups } = grouped;
      if (cgroups.version !== undefined) undo.push(() => cgroups.dispose());
      undo.push(async () => {
        wall.process.kill("SIGKILL");
        await wall.ended;
      });
      const compiling = compileRunner(interpreter, runner);
      undo.push(() => compiling?.[Symbol.dispose]());
      // What speaks with it is loaded while it starts.
      const { openGeneration } = await import("./generation.js");
      return await openGeneration({
        settings,
        sessionRoot,
        hostEnvironment,
        parts,
        grouped,
        stamp: environmentStamp(interpreter, hostEnvironment),
        place,
        undo,
        close,
      });
    } catch (error) {
      await close();
      throw explainStartFailure(error);
    }
  }
}

function placed({ isolation, info }: Generation, session: Session): Placement {
  return { session, isolation, info };
}

/** Changes whenever a package is added to or taken from the environment, or one is made. */
function environmentStamp({ site }: Interpreter, { environment }: HostEnvironment): string {
  const changes = [site, join(environment, "pyvenv.cfg")].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? "",
  );
  return changes.join(" ");
}

function placeOf(sessionRoot: string | undefined): string {
  const found =
    sessionRoot === undefined ? undefined : statSync(sessionRoot, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}/${found.ino}`;
}
