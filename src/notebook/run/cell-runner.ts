import { CellarError, describeError, isCellarError } from "../../errors.js";
import type { FileChanges } from "../cell.js";
import { describeOverrun, type Overrun } from "../workspace/quota.js";
import type { Scan, Usage } from "../workspace/scan.js";
import { overrunning, refusedRun, stateNotes } from "./cell-result.js";
import type { CellEvents } from "./events.js";
import type { LiveSession, Ran } from "./live-session.js";
import type { SessionFiles } from "./session-files.js";
import type { SessionKeeper } from "./session-keeper.js";

export interface RunOrder {
  readonly code: string;
  readonly sequence: number;
  readonly timeout: number | undefined;
  readonly stopping: AbortController;
  readonly events: CellEvents;
}

export interface RunOutcome extends Omit<Ran, "forgotten"> {
  readonly session: LiveSession;
  readonly startedAt: Date;
  readonly files: FileChanges;
  readonly notes: readonly string[];
}

/** Runs one cell in the session: watches its workspace and tells what became of both. */
export class CellRunner {
  readonly #keeper: SessionKeeper;
  readonly #sessionFiles: SessionFiles;
  /** What lay in the workspace after the last cell. */
  #census: Scan | undefined;
  #held: Usage | undefined;
  #isOutdated = false;
  #isRunning = false;

  constructor(keeper: SessionKeeper, sessionFiles: SessionFiles) {
    this.#keeper = keeper;
    this.#sessionFiles = sessionFiles;
  }

  /** The host has changed files: they are not of the next cell. */
  forgetFiles(): void {
    this.#census = undefined;
  }

  /** What was left running has changed files: the next cell lists them, but did not fill anything. */
  recount(): void {
    this.#isOutdated = true;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** What the last cell left in the workspace; undefined before the first. */
  get held(): Usage | undefined {
    return this.#held;
  }

  async run(order: RunOrder): Promise<RunOutcome> {
    this.#isRunning = true;
    try {
      return await this.#run(order);
    } finally {
      this.#isRunning = false;
    }
  }

  async #run(order: RunOrder): Promise<RunOutcome> {
    const { workspace } = this.#sessionFiles;
    const before = this.#census ?? (await workspace.scan());
    const held = await this.#count(before);
    const startedAt = new Date();
    if (workspace.quota.isBeyond(held)) return this.#refuse(order, held, startedAt);
    const watched = await this.#watched(order, held);
    const { changes, scan } = await workspace.changesSince(before);
    this.#census = scan;
    this.#held = scan.usage;
    const overrun = watched.overrun ?? workspace.quota.judge(scan.usage, held);
    const { session, execution, tookEffect, forgotten } = watched;
    const lost = this.#keeper.cellsAt(forgotten);
    const notes = [...watched.notes, ...stateNotes(execution, tookEffect, lost)];
    const excess = workspace.quota.judge(scan.usage);
    if (overrun === undefined && excess !== undefined) {
      const { message, hint } = describeOverrun(excess);
      notes.push(`${message}: ${hint}, as no cell may add to it`);
    }
    return {
      session,
      startedAt,
      execution: overrun === undefined ? execution : overrunning(execution, overrun),
      tookEffect,
      files: changes,
      notes,
    };
  }

  /** Where there was too much, another look is worth its time. */
  async #count({ usage }: Scan): Promise<Usage> {
    const { workspace } = this.#sessionFiles;
    const isCounted = !this.#isOutdated && workspace.quota.judge(usage) === undefined;
    this.#held = isCounted ? usage : await workspace.usage();
    this.#isOutdated = false;
    return this.#held;
  }

  async #refuse(order: RunOrder, held: Usage, startedAt: Date): Promise<RunOutcome> {
    const { limit } = this.#sessionFiles.workspace;
    const session = await this.#keeper.ready();
    return {
      session,
      startedAt,
      execution: refusedRun(order, { ...held, limit }, session.info.isolation),
      tookEffect: false,
      files: { created: [], changed: [], deleted: [] },
      notes: this.#keeper.takeNotes(),
    };
  }

  async #watched({ code, sequence, timeout, stopping, events }: RunOrder, held: Usage) {
    let overrun: Overrun | undefined;
    let blindness: unknown;
    const over = (found: Overrun) => {
      overrun = found;
      stopping.abort();
    };
    const failed = (error: unknown) => {
      blindness = error;
      stopping.abort();
    };
    this.#sessionFiles.listener = events;
    using _watch = this.#sessionFiles.workspace.quota.watch(over, failed, held);
    try {
      const options = { timeout, signal: stopping.signal };
      const ran = await this.#inSession((session) => session.run(code, options, sequence));
      const notes = this.#keeper.takeNotes();
      if (blindness !== undefined) {
        notes.push(
          `it was stopped, as its files could not be counted: ${describeError(blindness)}`,
        );
      }
      return { ...ran, notes, overrun };
    } finally {
      this.#sessionFiles.listener = undefined;
    }
  }

  /** A session that has ended since the last cell is replaced, once. */
  async #inSession(
    run: (session: LiveSession) => Promise<Ran>,
  ): Promise<Ran & { session: LiveSession }> {
    const session = await this.#keeper.ready();
    try {
      return { session, ...(await run(session)) };
    } catch (error) {
      if (!isCellarError(error, "SESSION_LOST")) throw error;
      session.abandon();
    }
    const successor = await this.#keeper.ready();
    if (successor === session) throw new CellarError("SESSION_LOST", "the session has ended");
    return { session: successor, ...(await run(successor)) };
  }
}
