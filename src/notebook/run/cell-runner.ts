import type { CodeExecution } from "../../backends/backend.js";
import { checkSource } from "../../backends/session/checks.js";
import { onAbort } from "../../concurrency/abort.js";
import type { Settings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Cell, FileChanges } from "../cell.js";
import { type CellRecord, recordOf } from "../document/cell-records.js";
import type { CellList } from "../document/cells.js";
import { withRun, withUnsaved } from "../document/changes.js";
import type { Journal } from "../document/journal.js";
import type { Execution } from "../document/timeline.js";
import { OutputQuota } from "../outputs/output-quota.js";
import { outputsOf } from "../outputs/outputs.js";
import type { PrivacyGuard } from "../privacy-guard.js";
import {
  type CellRun,
  type CellRunOptions,
  cellAfter,
  overrunning,
  refusedRun,
} from "./cell-result.js";
import { CellEvents } from "./events.js";
import type { LiveSession, Ran } from "./live-session.js";
import type { CellFacts, CellNotes } from "./notes.js";
import type { SessionFiles } from "./session-files.js";
import type { SessionKeeper } from "./session-keeper.js";
import type { Snapshots } from "./snapshots.js";
import type { WorkspaceGuard } from "./workspace-guard.js";

export interface CellRunnerParts {
  readonly journal: Journal;
  readonly cellList: CellList;
  readonly keeper: SessionKeeper;
  readonly sessionFiles: SessionFiles;
  readonly guard: WorkspaceGuard;
  readonly privacy: PrivacyGuard;
  readonly notes: CellNotes;
  readonly snapshots: Snapshots;
  readonly settings: Pick<Settings, "maxCells" | "outputsMaxSizeMb">;
}

interface RunRequest {
  readonly code: string;
  readonly sequence: number;
  readonly timeout: number | undefined;
  readonly stopping: AbortController;
  readonly events: CellEvents;
}

interface RunOutcome {
  readonly session: LiveSession;
  readonly execution: CodeExecution;
  readonly tookEffect: boolean;
  readonly startedAt: Date;
  readonly files: FileChanges;
  readonly facts: CellFacts;
}

/** Of a cell that was cancelled before its turn, without the outputs of an earlier run. */
const UNRUN: Partial<Cell> = {
  state: "CANCELLED",
  outputs: [],
  resources: [],
  notes: ["it was cancelled before it ran"],
};

type Enqueue = <T>(work: () => Promise<T>) => Promise<T>;

/** Adds cells and runs them: from the code to the saved cell. */
export class CellRunner {
  readonly #parts: CellRunnerParts;
  readonly #running = new Set<AbortController>();
  /** Also counts runs that could not be saved. */
  #sequence: number;

  constructor(parts: CellRunnerParts) {
    this.#parts = parts;
    this.#sequence = parts.journal.document.executionCount;
  }

  append(code: string): Cell {
    checkSource(code, {});
    const { cellList, settings } = this.#parts;
    const { maxCells } = settings;
    if (cellList.cells.length < maxCells) return cellList.append(code);
    const message = `the notebook has ${maxCells} cells, the maximum`;
    throw new CellarError("LIMIT_REACHED", message, {
      remedy: "Delete some, or open it with a larger maxCells.",
      details: { maxCells },
    });
  }

  /** The cell as it is now, with changes. */
  async save(id: string, change: Partial<Cell> = {}): Promise<Cell> {
    const { cellList, journal } = this.#parts;
    try {
      await journal.blobCollector.upload(async () => {
        const record = await recordOf(
          { ...cellList.find(id), ...change },
          journal.blobCollector.blobs,
        );
        await journal.commit((now) => ({
          ...now,
          records: cellList.withRecord(now.records, record),
        }));
      });
    } finally {
      cellList.settle(id);
    }
    return cellList.find(id);
  }

  /** Queues a run; its events can be read at once. */
  start(id: string, options: CellRunOptions, enqueue: Enqueue): CellRun {
    const { cellList } = this.#parts;
    const { signal, onText } = options;
    const events = new CellEvents(onText);
    const stopping = new AbortController();
    const listening = onAbort(signal, () => stopping.abort());
    this.#running.add(stopping);
    const done = enqueue(() => this.#run(id, options, stopping, events));
    done
      .catch((error: unknown) => {
        cellList.settle(id);
        events.end(error);
      })
      .finally(() => {
        listening[Symbol.dispose]();
        this.#running.delete(stopping);
      });
    return {
      get cell() {
        return cellList.find(id);
      },
      events,
      done,
      cancel: () => stopping.abort(),
    };
  }

  /** Runs again, in the caller's turn, the cells whose effects are missing, until one ends differently. */
  async replay(options: CellRunOptions): Promise<readonly Cell[]> {
    const { keeper, cellList } = this.#parts;
    await keeper.ready();
    const replayed: Cell[] = [];
    for (const { cell: id } of keeper.missing.filter(({ cell }) => cellList.has(cell))) {
      const before = cellList.find(id);
      const after = await this.start(id, options, (work) => work()).done;
      replayed.push(after);
      if (after.state !== before.state && after.state !== "COMPLETED") break;
    }
    return replayed;
  }

  cancelAll(): void {
    for (const stopping of this.#running) stopping.abort();
  }

  async #run(
    id: string,
    { timeout }: CellRunOptions,
    stopping: AbortController,
    events: CellEvents,
  ): Promise<Cell> {
    const { cellList } = this.#parts;
    try {
      if (stopping.signal.aborted) await this.save(id, UNRUN);
      else await this.#execute(cellList.find(id), { timeout, stopping, events });
    } finally {
      cellList.settle(id);
    }
    const saved = cellList.find(id);
    events.push({ type: "state", state: saved.state });
    events.push({ type: "finished", cell: saved });
    events.end();
    return saved;
  }

  async #execute(cell: Cell, request: Omit<RunRequest, "code" | "sequence">): Promise<void> {
    const { keeper, privacy, snapshots, cellList } = this.#parts;
    this.#sequence += 1;
    const sequence = this.#sequence;
    const number = { number: sequence, executionCount: sequence };
    cellList.show({ ...cell, ...number, state: "RUNNING", outputs: [], resources: [] });
    request.events.push({ type: "state", state: "RUNNING" });
    try {
      const outcome = await this.#runWatched({ ...request, code: cell.code, sequence });
      const { session, execution, tookEffect, files } = outcome;
      await privacy.inspect(files, session);
      await this.#saveRun(cell, sequence, outcome);
      if (!execution.state.survived) keeper.judge(session);
      if (tookEffect) snapshots.want();
    } catch (error) {
      throw await this.#explain(error, { sequence, cell: cell.id });
    }
  }

  async #runWatched(request: RunRequest): Promise<RunOutcome> {
    const { guard, keeper, sessionFiles } = this.#parts;
    let startedAt = new Date();
    sessionFiles.listener = request.events;
    try {
      const watched = await guard.watchCell(request.stopping, () => {
        startedAt = new Date();
        return this.#runInSession(request);
      });
      if ("limit" in watched) {
        const session = await keeper.ready();
        return {
          session,
          startedAt,
          execution: refusedRun(request, watched, session.info.isolation),
          tookEffect: false,
          files: { created: [], changed: [], deleted: [] },
          facts: { ran: undefined },
        };
      }
      const { ran, files, overrun, excess, uncounted } = watched;
      const { session, tookEffect } = ran;
      const execution = overrun === undefined ? ran.execution : overrunning(ran.execution, overrun);
      const lostCells = keeper.cellsAt(ran.forgotten);
      const facts = { ran: { execution, tookEffect, lostCells }, excess, uncounted };
      return { session, startedAt, execution, tookEffect, files, facts };
    } finally {
      sessionFiles.listener = undefined;
    }
  }

  /** Replaces, once, a session that has ended since the last cell. */
  async #runInSession(request: RunRequest): Promise<Ran & { session: LiveSession }> {
    const { keeper } = this.#parts;
    const { code, timeout, sequence, stopping } = request;
    const options = { timeout, signal: stopping.signal };
    const session = await keeper.ready();
    try {
      return { session, ...(await session.run(code, options, sequence)) };
    } catch (error) {
      if (!isCellarError(error, "SESSION_LOST")) throw error;
      session.abandon();
    }
    const successor = await keeper.ready();
    return { session: successor, ...(await successor.run(code, options, sequence)) };
  }

  /** Saves outputs, notes and what the run did to the timeline, in one commit. */
  async #saveRun(cell: Cell, sequence: number, outcome: RunOutcome): Promise<void> {
    const { journal, cellList, notes, settings } = this.#parts;
    const { session, execution, tookEffect, startedAt, files, facts } = outcome;
    const { id } = cell;
    const { blobs } = journal.blobCollector;
    await journal.blobCollector.upload(async () => {
      const { index } = cellList.find(id);
      const quota = OutputQuota.beside(journal.document.records, id, settings.outputsMaxSizeMb);
      const shown = await outputsOf(execution, { index, blobs, quota });
      const told = notes.collect({ ...facts, omittedOutputs: quota.note });
      const run = { sequence, startedAt, files, notes: told, ...shown };
      const record = await recordOf(cellAfter({ ...cell, index }, execution, run), blobs);
      const held = new Set(session.held);
      await journal.commit((before) => {
        const known = withUnsaved(before, session.unsaved);
        const now = tookEffect ? withRun(known, held, { sequence, cell: id }) : known;
        return {
          ...now,
          executionCount: sequence,
          records: cellList.withRecord(now.records, record),
        };
      });
    });
  }

  /** A run that could not be saved has happened all the same: says what became of it. */
  async #explain(error: unknown, run: Pick<Execution, "sequence" | "cell">): Promise<unknown> {
    const { journal, keeper } = this.#parts;
    // A former owner fails because the next one removed its files; report the takeover instead.
    await journal.confirm().catch(() => {});
    const saved = await journal.saved();
    journal.check();
    if (!isCellarError(error)) return error;
    const isThis = ({ cell }: CellRecord) =>
      cell.id === run.cell && cell.executionCount === run.sequence;
    const inRecord = saved === undefined ? null : saved.records.some(isThis);
    if (inRecord !== true) keeper.session?.noteUnsaved(run);
    const inVariables = keeper.session?.held.includes(run.sequence) ?? false;
    const { code, message, remedy, details } = error;
    // A cell that did not run explains itself.
    if (code !== "IO_ERROR" && !inVariables) return error;
    return new CellarError(code, `${message} (${fateOf(run.sequence, inRecord, inVariables)})`, {
      remedy,
      details: { ...details, inRecord, inVariables },
      cause: error,
    });
  }
}

function fateOf(sequence: number, inRecord: boolean | null, inVariables: boolean): string {
  const variables = `its effects are ${inVariables ? "" : "not "}in the variables`;
  switch (inRecord) {
    case true:
      return `run ${sequence} is in the record, but may not outlast a power failure; ${variables}`;
    case false:
      return `run ${sequence} is not in the record; ${variables}`;
    case null:
      return `whether run ${sequence} is in the record cannot be read now; ${variables}`;
  }
}
