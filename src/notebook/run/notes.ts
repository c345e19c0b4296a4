import type { CodeExecution, StateReport } from "../../backends/backend.js";
import { enforcesPrivacy, privacyNote } from "../../egress/privacy-enforcement.js";
import { describeError } from "../../errors.js";
import type { Journal } from "../document/journal.js";
import { marked } from "../document/timeline.js";
import { cellList } from "../state.js";
import { describeOverrun, type Overrun } from "../workspace/quota.js";
import type { LiveSession } from "./live-session.js";
import type { SnapshotFailure } from "./snapshots.js";

/** How the variables came out of a run. */
export interface StateAfterRun {
  readonly execution: CodeExecution;
  readonly tookEffect: boolean;
  /** The numbers of earlier cells whose effects were lost with it. */
  readonly lostCells: readonly number[];
}

export interface CellFacts {
  /** Undefined where nothing was run. */
  readonly ran: StateAfterRun | undefined;
  /** Set where the run was stopped because its files could not be counted. */
  readonly uncounted?: unknown;
  /** More files than allowed, left by earlier cells. */
  readonly excess?: Overrun | undefined;
  /** Outputs that did not fit into the notebook. */
  readonly omittedOutputs?: string | undefined;
}

export interface NotesSource {
  readonly journal: Journal;
  readonly session: () => LiveSession | undefined;
  readonly snapshotFailure: () => SnapshotFailure | undefined;
}

/** The notes of the next cell: the only place where they are collected. */
export class CellNotes {
  readonly #source: NotesSource;
  /** What happened to the session since the last cell. */
  #pending: string[] = [];
  /** Warnings that an earlier cell has carried already. */
  readonly #told = new Set<string>();

  constructor(source: NotesSource) {
    this.#source = source;
  }

  add(...notes: readonly string[]): void {
    this.#pending.push(...notes);
  }

  clear(): void {
    this.#pending = [];
  }

  /** All notes of a cell, in the order in which they are shown. */
  collect({ ran, uncounted, excess, omittedOutputs }: CellFacts): string[] {
    const notes = [...this.#pending.splice(0)];
    if (uncounted !== undefined) {
      notes.push(`stopped because its files could not be counted: ${describeError(uncounted)}`);
    }
    if (ran !== undefined) notes.push(...stateNotes(ran));
    if (excess !== undefined) {
      const { message, hint } = describeOverrun(excess);
      notes.push(`${message}: ${hint}, because no cell may add to it`);
    }
    notes.push(...this.#newWarnings(), ...this.#privacy());
    if (omittedOutputs !== undefined) notes.push(omittedOutputs);
    return notes;
  }

  warnings(): string[] {
    return [...this.#snapshotWarnings(), ...this.#unsavedRuns()];
  }

  #newWarnings(): string[] {
    const fresh = this.warnings().filter((note) => !this.#told.has(note));
    for (const note of fresh) this.#told.add(note);
    return fresh;
  }

  /** Said once where the network is cut, and with every cell where nothing enforces it. */
  #privacy(): string[] {
    const { private: mark } = this.#source.journal.document;
    const level = this.#source.session()?.info.isolation.level;
    if (mark === null || level === undefined) return [];
    const note = privacyNote(level, mark.reason);
    if (enforcesPrivacy(level) && this.#told.has(note)) return [];
    this.#told.add(note);
    return [note];
  }

  #snapshotWarnings(): string[] {
    const failure = this.#source.snapshotFailure();
    if (failure === undefined) return [];
    const { message, remedy } = failure.error;
    const told = remedy === undefined ? message : `${message}. ${remedy}`;
    return [`the variables are not saved: ${told}`];
  }

  #unsavedRuns(): string[] {
    const { held = [], unsaved = [] } = this.#source.session() ?? {};
    const isHeld = new Set(held);
    return marked(this.#source.journal.document.executions, unsaved)
      .filter(({ sequence, isUnsaved }) => isUnsaved === true && isHeld.has(sequence))
      .map(({ sequence }) => `run ${sequence} is in the variables, but was not saved`);
  }
}

/** What became of the variables, where that is not as usual. */
function stateNotes({ execution, tookEffect, lostCells }: StateAfterRun): string[] {
  const { state, status } = execution;
  const notes: string[] = [];
  if (!state.survived) notes.push(`variables were lost: ${lossOf(state, lostCells)}`);
  else if (!tookEffect) notes.push("what this cell did to the variables was undone");
  else if (status === "timeout" || status === "cancelled") {
    notes.push("it was interrupted; the variables are kept, including what it had changed by then");
  }
  if (state.lost !== undefined && state.lost.length > 0) {
    notes.push(`closed when the state was restored: ${state.lost.join(", ")}`);
  }
  return notes;
}

/** The session counts its cells differently, so its own words would name the wrong ones. */
function lossOf({ checkpoint, reason }: StateReport, lostCells: readonly number[]): string {
  if (checkpoint === null) return reason ?? "the session ended";
  const without = lostCells.length === 0 ? "" : `, without the effects of ${cellList(lostCells)}`;
  return `an earlier state was restored${without}`;
}
