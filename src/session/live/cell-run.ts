import type { CodeExecution, ExecutionStatus } from "../../backends/backend.js";
import type { Cell, CellState, FileChanges } from "../cell.js";
import { outputsOf } from "../outputs/outputs.js";
import type { BlobStore } from "../store/store.js";
import { describeOverrun, type Overrun } from "../workspace/quota.js";
import type { CellEvent } from "./events.js";

export interface CellRunOptions {
  /** Milliseconds; the notebook's setting where it is not given. */
  timeout?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A cell that was started. */
export interface CellRun {
  /** As it is now. */
  readonly cell: Cell;
  readonly events: AsyncIterable<CellEvent>;
  /** The cell as it was saved. Fails only when Cellar itself does. */
  readonly done: Promise<Cell>;
  cancel(): void;
}

export const STATE_OF: Readonly<Record<ExecutionStatus, CellState>> = {
  ok: "COMPLETED",
  error: "ERROR",
  timeout: "TIMEOUT",
  cancelled: "CANCELLED",
  oom: "OOM",
  crashed: "CRASHED",
};

/** What a run left behind beside its execution. */
export interface Aftermath {
  readonly sequence: number;
  readonly startedAt: Date;
  readonly files: FileChanges | undefined;
  readonly notes: readonly string[];
}

/** The cell after a run; of an earlier run nothing stays. */
export async function cellAfter(
  cell: Cell,
  execution: CodeExecution,
  { sequence, startedAt, files, notes }: Aftermath,
  blobs: BlobStore,
): Promise<Cell> {
  const { id, number, code, createdAt } = cell;
  const { outputs, resources } = await outputsOf(execution, { number, blobs });
  const { omitted } = execution;
  return {
    id,
    number,
    code,
    createdAt,
    state: STATE_OF[execution.status],
    outputs,
    resources,
    executionCount: sequence,
    executedAt: startedAt.toISOString(),
    executionTime: execution.duration,
    ...(files !== undefined && hasChanges(files) && { files }),
    ...((omitted.stdout > 0 || omitted.stderr > 0) && { omitted }),
    ...(notes.length > 0 && { notes: [...notes] }),
  };
}

/** A workspace that holds too much fails the cell, however the cell itself ended. */
export function overrunning(execution: CodeExecution, overrun: Overrun): CodeExecution {
  const { name, message, hint } = describeOverrun(overrun);
  const error = { type: name, message, traceback: `${name}: ${message}`, hint };
  return { ...execution, status: "error", error, result: null };
}

/** What became of the state, where that is not as usual. */
export function stateNotes({ state }: CodeExecution, tookEffect: boolean): string[] {
  const notes: string[] = [];
  if (!state.survived) notes.push(`variables were lost: ${state.reason ?? "the session ended"}`);
  else if (!tookEffect) notes.push("what this cell did to the variables was taken back");
  if (state.lost !== undefined && state.lost.length > 0) {
    notes.push(`closed when the state was restored: ${state.lost.join(", ")}`);
  }
  return notes;
}

function hasChanges({ created, changed, deleted, omitted = 0 }: FileChanges): boolean {
  return created.length + changed.length + deleted.length + omitted > 0;
}
