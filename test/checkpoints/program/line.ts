import type { Checkpoint, CodeExecution } from "../../../src/index.js";
import type { Cell } from "./cells.js";

type StateReport = CodeExecution["state"];

/** What a cell showed, as far as two sessions must agree on it. */
export interface Sight {
  readonly status: string;
  readonly error: string;
  readonly stdout: string;
  /** By name, if it is a digest. */
  readonly state: Readonly<Record<string, string>> | undefined;
  readonly head: HeadNumbers | undefined;
}

/** The process that runs the cells, as it sees itself. */
export interface HeadNumbers {
  readonly pid: number;
  readonly namespace: string;
}

export interface Step {
  readonly cell: Cell;
  readonly number: number;
  /** Its result says that a checkpoint holds it. */
  readonly isHeld: boolean;
  /** Unknown where it was done but could not answer. */
  readonly sight: Sight | undefined;
}

/** A result or a restore that is not what was promised. */
export class Wrong extends Error {}

/** The cells in effect, as the results tell it. */
export class Line {
  readonly steps: Step[];
  /** The head was killed before its newest checkpoint was seen: then that cell may be lost. */
  mayLose = false;

  constructor(steps: readonly Step[] = []) {
    this.steps = [...steps];
  }

  get present(): number {
    return this.steps.at(-1)?.number ?? 0;
  }

  get isHeld(): boolean {
    return this.steps.at(-1)?.isHeld ?? true;
  }

  /** Takes over what a result says; whether its cell is in effect. */
  hear(cell: Cell, run: CodeExecution): boolean {
    const { number, state, status } = run;
    if (!state.survived) this.#lose(state);
    this.mayLose = false;
    const isHeld = state.checkpoint === number;
    if (status === "ok" || status === "error") {
      this.steps.push({ cell, number, isHeld, sight: sightOf(run) });
      return true;
    }
    if (status === "crashed" && isHeld) {
      this.steps.push({ cell, number, isHeld, sight: undefined });
      return true;
    }
    if (status !== "crashed" && status !== "timeout") {
      throw new Wrong(`cell ${number} ended as ${status}: ${run.error?.message}`);
    }
    if (state.checkpoint === null) {
      throw new Wrong(`cell ${number} was not taken back: ${state.reason}`);
    }
    return false;
  }

  cutAfter(cell: number): Step[] {
    const index = this.steps.findLastIndex(({ number }) => number <= cell);
    return this.steps.splice(index + 1);
  }

  /** What can be gone back to must be of this line. */
  check(kept: readonly Checkpoint[]): void {
    const strange = kept.filter(
      ({ cell }) => cell !== 0 && !this.steps.some(({ number }) => number === cell),
    );
    if (strange.length > 0) {
      const known = this.steps.map(({ number }) => number).join(" ");
      throw new Wrong(`checkpoints of cells ${numbersOf(strange)} that are not among ${known}`);
    }
  }

  #lose(state: StateReport): void {
    const { lostCells = [], reason } = state;
    const restored = restoredCell(reason);
    if (restored === undefined) throw new Wrong(`the state is lost: ${reason}`);
    const gone = this.cutAfter(restored);
    if (this.present !== restored || gone.map(({ number }) => number).join() !== lostCells.join()) {
      const had = gone.map(({ number }) => number).join(", ");
      throw new Wrong(`lost after cell ${restored}: ${had || "nothing"}, but told: ${reason}`);
    }
    const unexplained = gone.slice(this.mayLose ? 1 : 0).filter(({ isHeld }) => isHeld);
    if (unexplained.length > 0 || gone.length === 0) {
      throw new Wrong(`lost although a checkpoint held it: ${reason}`);
    }
  }
}

/** The number of the cell whose state was restored, 0 for an empty session. */
export function restoredCell(reason: string | undefined): number | undefined {
  const found = /restored (?:the state after cell (\d+)|(an empty session))/.exec(reason ?? "");
  if (found === null) return undefined;
  return found[2] === undefined ? Number(found[1]) : 0;
}

function numbersOf(checkpoints: readonly Checkpoint[]): string {
  return checkpoints.map(({ cell }) => cell).join(" ");
}

export function sightOf({ status, error, stdout }: CodeExecution): Sight {
  const described = error === null ? "" : `${error.type}: ${error.message}`;
  const base = { status, error: described.replaceAll(/<cell \d+>/g, "<cell>") };
  const shown = parseDigest(stdout);
  if (shown === undefined) return { ...base, stdout, state: undefined, head: undefined };
  const { pid, namespace, state } = shown;
  return { ...base, stdout: "", state, head: { pid, namespace } };
}

function parseDigest(
  stdout: string,
): (HeadNumbers & { state: Record<string, string> }) | undefined {
  if (!stdout.startsWith('{"pid": ')) return undefined;
  return JSON.parse(stdout);
}

/** Where two sights differ, in a line each. */
export function differencesOf(seen: Sight, wanted: Sight): string[] {
  const found: string[] = [];
  for (const part of ["status", "error", "stdout"] as const) {
    if (seen[part] !== wanted[part]) found.push(`${part}: ${seen[part]} | not ${wanted[part]}`);
  }
  const [had, should] = [seen.state ?? {}, wanted.state ?? {}];
  for (const name of new Set([...Object.keys(had), ...Object.keys(should)])) {
    if (had[name] !== should[name]) found.push(`${name}: ${had[name]} | not ${should[name]}`);
  }
  return found;
}
