import { checkSource } from "../../backends/family/input.js";
import { CellarError } from "../../errors.js";
import type { Cell } from "../cell.js";
import { OutputQuota } from "../outputs/output-quota.js";
import { flagPrivate, type PrivacyGuard } from "../privacy-guard.js";
import type { Contents } from "../record/contents.js";
import type { Book, Journal } from "../record/journal.js";
import { markUndone, pageOf } from "../record/pages.js";
import { cutAfter, type Execution, extended, shortened } from "../record/timeline.js";
import type { StatusDesk } from "../status-desk.js";
import type { Workspace } from "../workspace/workspace.js";
import { type CellRun, type CellRunOptions, cellAfter } from "./cell-run.js";
import type { CellRunner } from "./cell-runner.js";
import { CellEvents } from "./events.js";
import type { SessionKeeper } from "./session-keeper.js";
import type { Snapshots } from "./snapshots.js";

export interface WorkbenchParts {
  readonly journal: Journal;
  readonly keeper: SessionKeeper;
  readonly runner: CellRunner;
  readonly snapshots: Snapshots;
  readonly contents: Contents;
  readonly status: StatusDesk;
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
export class Workbench {
  readonly #parts: WorkbenchParts;
  readonly #running = new Set<AbortController>();
  /** Also counts runs that could not be saved. */
  #sequence: number;

  constructor(parts: WorkbenchParts) {
    this.#parts = parts;
    this.#sequence = parts.journal.book.executionCount;
  }

  append(code: string): Cell {
    checkSource(code, {});
    const { contents, maxCells } = this.#parts;
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
    const { contents, journal } = this.#parts;
    try {
      await journal.vault.upload(async () => {
        const page = await pageOf({ ...contents.find(id), ...change }, journal.vault.blobs);
        await journal.commit((now) => ({ ...now, pages: contents.withPage(now.pages, page) }));
      });
    } finally {
      contents.settle(id);
    }
    return contents.find(id);
  }

  start(id: string, options: CellRunOptions, enqueue: Enqueue): CellRun {
    const { contents } = this.#parts;
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
    const { contents } = this.#parts;
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
    const { journal, keeper, runner, snapshots, contents, status } = this.#parts;
    const { id, code } = cell;
    contents.show({ ...cell, state: "RUNNING", outputs: [], resources: [] });
    events.push({ type: "state", state: "RUNNING" });
    this.#sequence += 1;
    const sequence = this.#sequence;
    await this.#lookForPrivateFiles();
    const outcome = await runner.run({ code, sequence, timeout, stopping, events });
    const { session, execution, tookEffect, startedAt, files } = outcome;
    await this.#parts.privacy.inspect(files, session);
    const notes = [...outcome.notes, ...status.takeNotes()];
    const { blobs } = journal.vault;
    await journal.vault.upload(async () => {
      const { number } = contents.find(id);
      const aftermath = { sequence, startedAt, files, notes };
      const { outputsMaxSizeMb } = this.#parts;
      const quota = OutputQuota.beside(journal.book.pages, id, outputsMaxSizeMb);
      const page = await pageOf(
        await cellAfter({ ...cell, number }, execution, aftermath, { blobs, quota }),
        blobs,
      );
      const held = new Set(session.held);
      await journal.commit((now) => ({
        ...now,
        executionCount: sequence,
        ...(tookEffect && lengthened(now, held, { sequence, cell: id })),
        pages: contents.withPage(now.pages, page),
      }));
    });
    if (!execution.state.survived) keeper.judge(session);
    if (tookEffect) snapshots.want();
  }

  /** Of what was left running, too, before this cell can send anything. */
  async #lookForPrivateFiles(): Promise<void> {
    const { privacy, workspace, keeper } = this.#parts;
    if (await privacy.survey(workspace)) await flagPrivate(await keeper.ready());
  }

  #enter(signal: AbortSignal | undefined): Disposable & { readonly stopping: AbortController } {
    const stopping = new AbortController();
    const abort = () => stopping.abort();
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#running.add(stopping);
    return {
      stopping,
      [Symbol.dispose]: () => {
        signal?.removeEventListener("abort", abort);
        this.#running.delete(stopping);
      },
    };
  }
}

function lengthened(
  { executions, snapshots, isShortened }: Book,
  held: ReadonlySet<number>,
  run: Execution,
): Pick<Book, "executions" | "isShortened"> {
  const long = extended(executions, held, run);
  const kept = snapshots.map(({ sequence }) => sequence);
  const short = shortened(long, kept);
  return { executions: short, isShortened: isShortened || short.length < long.length };
}

/** The notebook after its variables went back to a point of the timeline. */
export function undone(now: Book, target: number, held: readonly number[]): Book {
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
