import type { CodeExecution } from "../../backends/backend.js";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import type { FileChanges } from "../cell.js";
import type { Census } from "../workspace/census.js";
import type { Overrun } from "../workspace/quota.js";
import { overrunning, stateNotes } from "./cell-run.js";
import type { CellEvents } from "./events.js";
import type { LiveSession, Ran } from "./live-session.js";
import type { Quarters } from "./quarters.js";
import type { SessionKeeper } from "./session-keeper.js";

export interface RunOrder {
  readonly code: string;
  readonly sequence: number;
  readonly timeout: number | undefined;
  readonly stopping: AbortController;
  readonly events: CellEvents;
}

export interface RunOutcome extends Ran {
  readonly session: LiveSession;
  readonly startedAt: Date;
  readonly files: FileChanges;
  readonly notes: readonly string[];
}

/** Runs one cell in the session: watches its workspace and tells what became of both. */
export class CellRunner {
  readonly #keeper: SessionKeeper;
  readonly #quarters: Quarters;
  /** What lay in the workspace after the last cell. */
  #census: Census | undefined;

  constructor(keeper: SessionKeeper, quarters: Quarters) {
    this.#keeper = keeper;
    this.#quarters = quarters;
  }

  /** The host has changed files: they are not of the next cell. */
  forgetFiles(): void {
    this.#census = undefined;
  }

  async run(order: RunOrder): Promise<RunOutcome> {
    const before = this.#census ?? (await this.#quarters.workspace.scan());
    const startedAt = new Date();
    const watched = await this.#watched(order);
    const { changes, census } = await this.#quarters.workspace.changesSince(before);
    this.#census = census;
    const overrun = watched.overrun ?? this.#quarters.workspace.quota.judge(census.usage);
    const { session, execution, tookEffect } = watched;
    const notes = [...watched.notes, ...stateNotes(execution, tookEffect)];
    return {
      session,
      startedAt,
      execution: overrun === undefined ? execution : overrunning(execution, overrun),
      tookEffect,
      files: changes,
      notes,
    };
  }

  async #watched({ code, sequence, timeout, stopping, events }: RunOrder) {
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
    this.#quarters.listener = events;
    using _watch = this.#quarters.workspace.quota.watch(over, failed);
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
      this.#quarters.listener = undefined;
    }
  }

  /** A session that has ended since the last cell is replaced, once. */
  async #inSession(
    run: (session: LiveSession) => Promise<Ran>,
  ): Promise<{ session: LiveSession; execution: CodeExecution; tookEffect: boolean }> {
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
