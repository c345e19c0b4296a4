import { buffer } from "node:stream/consumers";
import { CellarError, counted, describeError } from "../errors.js";
import { type StateManifest, stateManifestSchema } from "../protocol/state-messages.js";
import type { CellList } from "./document/cells.js";
import type { SnapshotRecord } from "./document/head.js";
import type { Journal } from "./document/journal.js";
import { isInEffect, newestInEffect, stepsBack } from "./document/timeline.js";
import type { NotebookContent } from "./interchange/notebook-content.js";
import type { CellNotes } from "./run/notes.js";
import type { SessionKeeper } from "./run/session-keeper.js";
import type { Snapshots } from "./run/snapshots.js";
import {
  cellList,
  type NotebookCheckpoint,
  type NotebookInfo,
  type NotebookState,
} from "./state.js";
import type { NotebookId } from "./store/store.js";

export interface StatusParts {
  readonly id: NotebookId;
  readonly journal: Journal;
  readonly cellList: CellList;
  readonly keeper: SessionKeeper;
  readonly snapshots: Snapshots;
  readonly notes: CellNotes;
}

/** What a notebook reports about itself. */
export class NotebookStatus {
  readonly #parts: StatusParts;
  #manifest: { readonly sequence: number; readonly manifest: StateManifest } | undefined;
  #problem: string | undefined;

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  /** A large manifest is in a blob. */
  async load(): Promise<void> {
    const newest = this.#newest;
    if (newest === undefined || !("sha256" in newest.manifest)) return;
    try {
      const text = await buffer(this.#parts.journal.blobCollector.blobs.get(newest.manifest));
      const manifest = stateManifestSchema.parse(JSON.parse(text.toString("utf8")));
      this.#manifest = { sequence: newest.sequence, manifest };
    } catch (error) {
      this.#problem = `the manifest of the snapshot cannot be read: ${describeError(error)}`;
    }
  }

  get info(): NotebookInfo {
    const { session } = this.#parts.keeper;
    if (session === undefined) throw new CellarError("SESSION_CLOSED", "the notebook is not open");
    const { isolation, python, mode } = session.info;
    const { createdAt, epoch, private: mark } = this.#parts.journal.document;
    return { ...this.#parts.id, createdAt, epoch, isolation, python, mode, private: mark };
  }

  get state(): NotebookState {
    const newest = this.#newest;
    const { restored, report, ranAfter, session } = this.#parts.keeper;
    const { aside } = this.#parts.journal.document;
    return {
      present: session?.present ?? 0,
      snapshot: newest === undefined ? null : this.#described(newest),
      restored: restored?.sequence ?? null,
      ranAfter,
      lost: report?.lost ?? [],
      refused: aside.map(({ snapshot, reason }) => ({ sequence: snapshot.sequence, reason })),
      warnings: this.#warnings(),
    };
  }

  async checkpoints(): Promise<readonly NotebookCheckpoint[]> {
    const { executions, snapshots, isShortened } = this.#parts.journal.document;
    const live = new Set(await this.#parts.keeper.session?.reachable());
    const kept = snapshots
      .map(({ sequence }) => sequence)
      .filter((sequence) => isInEffect(executions, sequence));
    const beginning = isShortened ? [] : [0];
    const all = [...new Set([...beginning, ...kept, ...live])].sort((a, b) => a - b);
    return all.map((sequence) => this.checkpointAt(sequence, live.has(sequence)));
  }

  checkpointAt(sequence: number, isLive: boolean): NotebookCheckpoint {
    const isShown = this.#parts.cellList.cells.some(({ number }) => number === sequence);
    return { sequence, cell: isShown ? sequence : null, kind: isLive ? "live" : "snapshot" };
  }

  async gone(count: number, held: readonly number[]): Promise<CellarError> {
    const available = await this.checkpoints();
    const points = new Set(available.map(({ sequence }) => sequence));
    const usable = held
      .map((_, at) => at + 1)
      .filter((steps) => points.has(stepsBack(held, steps) ?? -1));
    const problem =
      count > held.length
        ? `only ${counted(held.length, "run")} can be undone`
        : "the state before that was not kept";
    const remedy =
      usable.length === 0
        ? "Nothing can be undone now. Set the variables in a new cell."
        : `Possible now: ${usable.map((steps) => `undo(${steps})`).join(", ")}.`;
    return new CellarError("CHECKPOINT_GONE", `cannot undo ${counted(count, "run")}: ${problem}`, {
      remedy,
      details: { available, usable },
    });
  }

  unkept(): CellarError {
    const failure = this.#parts.snapshots.failure?.error;
    const why = failure?.message ?? "it could not be captured";
    return new CellarError(failure?.code ?? "STATE_REFUSED", `the state cannot be saved: ${why}`, {
      remedy: failure?.remedy,
      cause: failure,
    });
  }

  content(resource: NotebookContent["resource"]): NotebookContent {
    const { user, session } = this.#parts.id;
    const python = this.#parts.keeper.session?.info.python.version;
    return { cells: this.#parts.cellList.cells, resource, python, title: `${user}/${session}` };
  }

  #described(newest: SnapshotRecord): NonNullable<NotebookState["snapshot"]> {
    const { sequence, at, blob, manifest } = newest;
    const loaded = this.#manifest?.sequence === sequence ? this.#manifest.manifest : undefined;
    const known = this.#parts.snapshots.manifestOf(sequence) ?? loaded ?? null;
    return { sequence, at, bytes: blob.bytes, manifest: "sha256" in manifest ? known : manifest };
  }

  get #newest(): SnapshotRecord | undefined {
    const { snapshots, executions } = this.#parts.journal.document;
    return newestInEffect(snapshots, executions);
  }

  #unreadable(): string[] {
    const damaged = this.#parts.journal.document.records.filter(
      ({ isDamaged }) => isDamaged === true,
    );
    const numbers = this.#parts.cellList.numbersOf(damaged.map(({ cell }) => cell.id));
    return numbers.length === 0 ? [] : [`the saved record of ${cellList(numbers)} cannot be read`];
  }

  #warnings(): string[] {
    const { goneForGood } = this.#parts.keeper;
    return [
      ...(goneForGood === undefined ? [] : [goneForGood]),
      ...this.#unreadable(),
      ...this.#parts.journal.damaged.map((file) => `a damaged file was put aside: ${file}`),
      ...(this.#problem === undefined ? [] : [this.#problem]),
      ...(this.#parts.keeper.report?.warnings ?? []),
      ...this.#parts.notes.warnings(),
    ];
  }
}
