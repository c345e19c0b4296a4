import { CellarError } from "../../errors.js";
import type { RestoreReport } from "../../protocol/messages.js";
import type { CellList } from "../document/cells.js";
import type { SnapshotRecord } from "../document/head.js";
import type { Journal } from "../document/journal.js";
import {
  type Execution,
  isInEffect,
  marked,
  missing,
  newestInEffect,
} from "../document/timeline.js";
import { flagPrivate } from "../privacy-guard.js";
import { cellList, notebookClosed } from "../state.js";
import type { Seal } from "../store/seal.js";
import type { NotebookId } from "../store/store.js";
import type { LiveSession } from "./live-session.js";
import type { CellNotes } from "./notes.js";
import { type Refused, type Restored, restoreFirst } from "./restore.js";
import type { SessionFiles } from "./session-files.js";

const MOST_ASIDE = 20;

export interface KeeperPlan {
  readonly id: NotebookId;
  readonly journal: Journal;
  readonly seal: Seal;
  readonly sessionFiles: SessionFiles;
  readonly cellList: CellList;
  readonly notes: CellNotes;
}

/** Keeps a session ready, with the newest variables that can be restored. */
export class SessionKeeper {
  readonly #plan: KeeperPlan;
  #session: LiveSession | undefined;
  #restored: Pick<Restored, "snapshot" | "report"> = { snapshot: null, report: null };
  #ended: string | undefined;
  #isClosed = false;

  constructor(plan: KeeperPlan) {
    this.#plan = plan;
  }

  get session(): LiveSession | undefined {
    return this.#session;
  }

  get restored(): SnapshotRecord | null {
    return this.#restored.snapshot;
  }

  get report(): RestoreReport | null {
    return this.#restored.report;
  }

  get ranAfter(): readonly number[] {
    return this.#plan.cellList.numbersOf(this.missing.map(({ cell }) => cell));
  }

  cellsAt(sequences: readonly number[]): readonly number[] {
    const { executions } = this.#plan.journal.document;
    const ran = executions.filter(({ sequence }) => sequences.includes(sequence));
    return this.#plan.cellList.numbersOf([...new Set(ran.map(({ cell }) => cell))]);
  }

  /** Lost effects of deleted cells, which cannot be run again. */
  get goneForGood(): string | undefined {
    const gone = this.missing.filter(
      ({ cell, isLost }) => !isLost && !this.#plan.cellList.has(cell),
    );
    if (gone.length === 0) return undefined;
    const cells = gone.length === 1 ? "a deleted cell is" : `${gone.length} deleted cells are`;
    return `the effects of ${cells} missing and cannot be restored`;
  }

  /** The session, replaced if it has ended. */
  async ready(): Promise<LiveSession> {
    if (this.#isClosed) throw notebookClosed();
    const former = this.#session;
    if (former !== undefined && !former.isLost) return former;
    const { snapshots, executions } = this.#plan.journal.document;
    const usable = snapshots.filter(({ sequence }) => isInEffect(executions, sequence));
    await this.#replace(await this.#restore(usable));
    const event = this.#ended ?? "the session ended and was restarted";
    this.#ended = undefined;
    this.#tell(former === undefined ? undefined : event);
    return this.#session as LiveSession;
  }

  /** An empty session; the next cell gets the reason as a note. */
  async renew(reason: string): Promise<void> {
    await this.#replace(await this.#restore([]));
    this.#plan.notes.clear();
    this.#plan.notes.add(reason);
  }

  /** Ends the session; the next cell gets the reason as a note. */
  async end(reason: string): Promise<void> {
    const session = this.#session;
    if (session === undefined || session.isLost) return;
    session.abandon();
    this.#ended = reason;
    await session[Symbol.asyncDispose]();
  }

  /** Drops a session that lost more than the newest snapshot has. */
  judge(session: LiveSession): void {
    const { snapshots, executions } = this.#plan.journal.document;
    const kept = newestInEffect(snapshots, executions);
    if (kept !== undefined && kept.sequence > session.present) session.abandon();
  }

  /** False where neither a checkpoint nor a snapshot has that state. */
  async goTo(sequence: number): Promise<boolean> {
    if (await this.#session?.undoTo(sequence)) return true;
    const kept = this.#plan.journal.document.snapshots.filter((one) => one.sequence === sequence);
    if (sequence !== 0 && kept.length === 0) return false;
    const restored = await this.#restore(kept);
    if (restored.snapshot === null && sequence !== 0) {
      await restored.session[Symbol.asyncDispose]();
      throw new CellarError(
        "STATE_REFUSED",
        `the snapshot cannot be used: ${restored.refused[0]?.reason ?? ""}`,
        { remedy: "checkpoints() lists the states that undo can reach." },
      );
    }
    await this.#replace(restored);
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#session?.[Symbol.asyncDispose]();
  }

  async #restore(snapshots: readonly SnapshotRecord[]): Promise<Restored> {
    const { id, journal, seal, sessionFiles } = this.#plan;
    const { blobs } = journal.blobCollector;
    const plan = { id, seal, blobs, sessionFiles };
    const restored = await restoreFirst(plan, snapshots, journal.document.executions);
    try {
      if (restored.refused.length > 0) await this.#setAside(restored.refused);
      if (journal.document.private !== null) await flagPrivate(restored.session);
      return restored;
    } catch (error) {
      await restored.session[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #replace({ session, snapshot, report }: Restored): Promise<void> {
    if (this.#isClosed) {
      await session[Symbol.asyncDispose]();
      throw notebookClosed();
    }
    const former = this.#session;
    this.#session = session;
    this.#restored = { snapshot, report };
    await former?.[Symbol.asyncDispose]();
  }

  async #setAside(refused: readonly Refused[]): Promise<void> {
    const sequences = new Set(refused.map(({ snapshot }) => snapshot.sequence));
    for (const { snapshot, reason } of refused) {
      this.#plan.notes.add(`the snapshot after ${this.#placeOf(snapshot)} was not used: ${reason}`);
    }
    await this.#plan.journal.commit((now) => ({
      ...now,
      snapshots: now.snapshots.filter(({ sequence }) => !sequences.has(sequence)),
      aside: [...refused, ...now.aside].slice(0, MOST_ASIDE),
    }));
  }

  #tell(event: string | undefined): void {
    const { notes } = this.#plan;
    const { ranAfter, goneForGood, report, restored } = this;
    const lost = report?.lost ?? [];
    const isWhole = ranAfter.length === 0 && goneForGood === undefined && lost.length === 0;
    if (event === undefined && isWhole) return;
    const source =
      restored === null
        ? "the variables are empty"
        : `the variables are those after ${this.#placeOf(restored)}`;
    notes.add(event === undefined ? source : `${event}: ${source}`);
    if (ranAfter.length > 0) {
      const verb = ranAfter.length === 1 ? "is" : "are";
      notes.add(`the effects of ${cellList(ranAfter)} ${verb} missing: replay() runs them again`);
    }
    if (goneForGood !== undefined) notes.add(goneForGood);
    for (const { name, reason, advice } of lost) {
      notes.add(`lost ${name}: ${reason}${advice === undefined ? "" : ` (${advice})`}`);
    }
  }

  #placeOf({ sequence }: SnapshotRecord): string {
    const { executions } = this.#plan.journal.document;
    const run = executions.find((one) => one.sequence === sequence);
    if (run?.isUnsaved === true) return "a run that was not saved";
    const { cellList: cells } = this.#plan;
    if (run === undefined || !cells.has(run.cell)) return "a cell that was deleted";
    const isShown = cells.cells.some(({ number }) => number === sequence);
    return isShown ? `cell ${sequence}` : `run ${sequence}`;
  }

  get missing(): readonly Execution[] {
    const { held, unsaved = [] } = this.#session ?? {};
    return missing(marked(this.#plan.journal.document.executions, unsaved), new Set(held));
  }
}
