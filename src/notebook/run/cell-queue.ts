import { checkSource } from "../../backends/session/checks.js";
import { onAbort } from "../../concurrency/abort.js";
import { CellarError, isCellarError } from "../../errors.js";
import type { Cell } from "../cell.js";
import { type CellRecord, markUndone, pageOf } from "../document/cell-records.js";
import type { CellList } from "../document/cells.js";
import type { Journal, NotebookDocument } from "../document/journal.js";
import { cutAfter, type Execution, extended, isInEffect, shortened } from "../document/timeline.js";
import { OutputQuota } from "../outputs/output-quota.js";
import { flagPrivate, type PrivacyGuard } from "../privacy.js";
import type { StatusNotes } from "../status.js";
import type { Workspace } from "../workspace/workspace.js";
import { type CellRun, type CellRunOptions, cellAfter } from "./cell-result.js";
import type { CellRunner, RunOrder } from "./cell-runner.js";
import { CellEvents } from "./events.js";
import type { SessionKeeper } from "./session-keeper.js";
import { type Snapshots, withUnsaved } from "./snapshots.js";

export interface CellQueueParts {
  readonly journal: Journal;
  readonly keeper: SessionKeeper;
  readonly runner: CellRunner;
  readonly snapshots: Snapshots;
  readonly cellList: CellList;
  readonly status: StatusNotes;
  readonly privacy: PrivacyGuard;
  readonly workspace: Pick<Workspace, "files">;
  readonly maxCells: number;
  /** What the outputs of all cells together may take. */
  readonly outputsMaxSizeMb: number;
}

/** Of a cell that was cancelled before its turn; it does not show what an earlier run gave. */
const UNRUN: Partial<Cell> = {
  state: "CANCELLED",
  outputs: [],
  resources: [],
  notes: ["it was cancelled before it ran"],
};

type Enqueue = <T>(work: () => Promise<T>) => Promise<T>;

/** Where cells are written and run. */
export class CellQueue {
  readonly #parts: CellQueueParts;
  readonly #running = new Set<AbortController>();
  /** Also counts runs that could not be saved. */
  #sequence: number;

  constructor(parts: CellQueueParts) {
    this.#parts = parts;
    this.#sequence = parts.journal.document.executionCount;
  }

  append(code: string): Cell {
    checkSource(code, {});
    const { cellList: contents, maxCells } = this.#parts;
    if (contents.cells.length < maxCells) return contents.append(code);
    const message = `the notebook has ${maxCells} cells, as many as it may have`;
    throw new CellarError("LIMIT_REACHED", message, {
      remedy: "Delete some, or open it with a larger maxCells.",
      details: { maxCells },
    });
  }

  cancelAll(): void {
    for (const stopping of this.#running) stopping.abort();
  }

  /** The cell as it stands, or changed. */
  async save(id: string, change: Partial<Cell> = {}): Promise<Cell> {
    const { cellList: contents, journal } = this.#parts;
    try {
      await journal.blobCollector.upload(async () => {
        const page = await pageOf({ ...contents.find(id), ...change }, journal.blobCollector.blobs);
        await journal.commit((now) => ({ ...now, pages: contents.withPage(now.pages, page) }));
      });
    } finally {
      contents.settle(id);
    }
    return contents.find(id);
  }

  start(id: string, options: CellRunOptions, enqueue: Enqueue): CellRun {
    const { cellList: contents } = this.#parts;
    const events = new CellEvents();
    const entry = this.#enter(options.signal);
    const done = enqueue(() => this.#run(id, options, entry.stopping, events));
    done
      .catch((error: unknown) => {
        contents.settle(id);
        events.end(error);
      })
      .finally(() => entry[Symbol.dispose]());
    return {
      get cell() {
        return contents.find(id);
      },
      events,
      done,
      cancel: () => entry.stopping.abort(),
    };
  }

  /** For those whose turn it is. */
  async perform(id: string, options: CellRunOptions): Promise<Cell> {
    using entry = this.#enter(options.signal);
    return await this.#run(id, options, entry.stopping, new CellEvents());
  }

  /** One run of one cell, saved before it is answered. */
  async #run(
    id: string,
    options: CellRunOptions,
    stopping: AbortController,
    events: CellEvents,
  ): Promise<Cell> {
    const { cellList: contents } = this.#parts;
    const cell = contents.find(id);
    try {
      if (stopping.signal.aborted) await this.save(id, UNRUN);
      else await this.#execute(cell, options, stopping, events);
    } finally {
      contents.settle(id);
    }
    const saved = contents.find(id);
    events.push({ type: "state", state: saved.state });
    events.push({ type: "finished", cell: saved });
    events.end();
    return saved;
  }

  async #execute(
    cell: Cell,
    { timeout }: CellRunOptions,
    stopping: AbortController,
    events: CellEvents,
  ): Promise<void> {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const number = { number: sequence, executionCount: sequence };
    this.#parts.cellList.show({ ...cell, ...number, state: "RUNNING", outputs: [], resources: [] });
    events.push({ type: "state", state: "RUNNING" });
    const order = { code: cell.code, sequence, timeout, stopping, events };
    try {
      await this.#runAndSave(cell, order);
    } catch (error) {
      throw await this.#explain(error, { sequence, cell: cell.id });
    }
  }

  async #runAndSave(cell: Cell, order: RunOrder): Promise<void> {
    const { journal, keeper, runner, snapshots, cellList: contents, status } = this.#parts;
    const { id } = cell;
    const { sequence } = order;
    await this.#lookForPrivateFiles();
    const outcome = await runner.run(order);
    const { session, execution, tookEffect, startedAt, files } = outcome;
    await this.#parts.privacy.inspect(files, session);
    const notes = [...outcome.notes, ...status.takeNotes()];
    const { blobs } = journal.blobCollector;
    await journal.blobCollector.upload(async () => {
      const { index } = contents.find(id);
      const aftermath = { sequence, startedAt, files, notes };
      const { outputsMaxSizeMb } = this.#parts;
      const quota = OutputQuota.beside(journal.document.pages, id, outputsMaxSizeMb);
      const page = await pageOf(
        await cellAfter({ ...cell, index }, execution, aftermath, { blobs, quota }),
        blobs,
      );
      const held = new Set(session.held);
      await journal.commit((before) => {
        const now = withUnsaved(before, session.unsaved);
        return {
          ...now,
          executionCount: sequence,
          ...(tookEffect && lengthened(now, held, { sequence, cell: id })),
          pages: contents.withPage(now.pages, page),
        };
      });
    });
    if (!execution.state.survived) keeper.judge(session);
    if (tookEffect) snapshots.want();
  }

  /** Of what was left running, too, before this cell can send anything. */
  async #lookForPrivateFiles(): Promise<void> {
    const { privacy, workspace, keeper } = this.#parts;
    if (await privacy.survey(workspace)) await flagPrivate(await keeper.ready());
  }

  /** A run that cannot be saved has run all the same: what became of it is found out and told. */
  async #explain(error: unknown, run: Pick<Execution, "sequence" | "cell">): Promise<unknown> {
    const { journal, keeper } = this.#parts;
    // A former owner fails by what the next one has cleared away, and is to hear why.
    await journal.confirm().catch(() => {});
    const saved = await journal.saved();
    journal.check();
    if (!isCellarError(error)) return error;
    const isThis = ({ cell }: CellRecord) =>
      cell.id === run.cell && cell.executionCount === run.sequence;
    const inRecord = saved === undefined ? null : saved.pages.some(isThis);
    if (inRecord !== true) keeper.session?.noteUnsaved(run);
    const inVariables = keeper.session?.held.includes(run.sequence) ?? false;
    const { code, message, remedy, details } = error;
    // One that did not run, for a reason of its own, needs no more words.
    if (code !== "IO_ERROR" && !inVariables) return error;
    return new CellarError(code, `${message} (${fateOf(run.sequence, inRecord, inVariables)})`, {
      remedy,
      details: { ...details, inRecord, inVariables },
      cause: error,
    });
  }

  #enter(signal: AbortSignal | undefined): Disposable & { readonly stopping: AbortController } {
    const stopping = new AbortController();
    const listening = onAbort(signal, () => stopping.abort());
    this.#running.add(stopping);
    return {
      stopping,
      [Symbol.dispose]: () => {
        listening[Symbol.dispose]();
        this.#running.delete(stopping);
      },
    };
  }
}

function fateOf(sequence: number, inRecord: boolean | null, inVariables: boolean): string {
  const variables = inVariables
    ? "its effects are in the variables"
    : "its effects are not in the variables";
  switch (inRecord) {
    case true:
      return `run ${sequence} is in the record, but may not outlast a power failure; ${variables}`;
    case false:
      return `run ${sequence} is not in the record; ${variables}`;
    case null:
      return `whether run ${sequence} is in the record cannot be read now; ${variables}`;
  }
}

function lengthened(
  { executions, snapshots, isShortened }: NotebookDocument,
  held: ReadonlySet<number>,
  run: Execution,
): Pick<NotebookDocument, "executions" | "isShortened" | "snapshots"> {
  const long = extended(executions, held, run);
  // What later cells ran without is never restored again.
  const kept = snapshots.filter(({ sequence }) => isInEffect(long, sequence));
  const short = shortened(
    long,
    kept.map(({ sequence }) => sequence),
  );
  return {
    executions: short,
    isShortened: isShortened || short.length < long.length,
    snapshots: kept,
  };
}

/** The notebook after its variables went back to a point of the timeline. */
export function undone(
  now: NotebookDocument,
  target: number,
  held: readonly number[],
): NotebookDocument {
  const { kept, taken } = cutAfter(now.executions, target, new Set(held));
  const sequences = new Set(taken.map(({ sequence }) => sequence));
  return {
    ...now,
    executions: kept,
    snapshots: now.snapshots.filter(({ sequence }) => sequence <= target),
    pages: now.pages.map((page) =>
      sequences.has(page.cell.executionCount ?? 0) ? markUndone(page, true) : page,
    ),
  };
}
