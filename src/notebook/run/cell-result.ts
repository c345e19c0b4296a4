import type {
  CodeExecution,
  ExecutionError,
  ExecutionStatus,
  Isolation,
  StateReport,
} from "../../backends/backend.js";
import { checkLimit } from "../../backends/session/checks.js";
import { LONGEST_TIMEOUT_MS } from "../../config/environment.js";
import { checkNames, checkSignal, requireOptions } from "../../config/kinds.js";
import type { Cell, CellState, FileChanges } from "../cell.js";
import type { OutputQuota } from "../outputs/output-quota.js";
import { outputsOf } from "../outputs/outputs.js";
import { cellList } from "../state.js";
import type { BlobStore } from "../store/store.js";
import {
  describeOverrun,
  describeRefusal,
  type Overrun,
  type OverrunReport,
} from "../workspace/quota.js";
import type { CellEvent } from "./events.js";

export interface CellRunOptions {
  /** Milliseconds; the notebook's setting where it is not given. */
  timeout?: number | undefined;
  signal?: AbortSignal | undefined;
}

export function checkRun(options: CellRunOptions): void {
  const given = requireOptions("the options of a run", options);
  checkNames("the run of a cell", given, { timeout: true, signal: true });
  checkSignal(options.signal);
  checkLimit("timeout", options.timeout, 1, LONGEST_TIMEOUT_MS);
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
  { blobs, quota }: { readonly blobs: BlobStore; readonly quota: OutputQuota },
): Promise<Cell> {
  const { id, index, code, createdAt } = cell;
  const { outputs, resources } = await outputsOf(execution, { index, blobs, quota });
  const told = [...notes, ...(quota.note === undefined ? [] : [quota.note])];
  const { omitted, exitCode } = execution;
  return {
    id,
    index,
    number: sequence,
    code,
    createdAt,
    state: STATE_OF[execution.status],
    outputs,
    resources,
    executionCount: sequence,
    executedAt: startedAt.toISOString(),
    executionTime: execution.duration,
    ...(exitCode !== null && { exitCode }),
    ...(files !== undefined && hasChanges(files) && { files }),
    ...((omitted.stdout > 0 || omitted.stderr > 0) && { omitted }),
    ...(told.length > 0 && { notes: told }),
  };
}

/** A workspace that holds too much fails the cell, however the cell itself ended. */
export function overrunning(execution: CodeExecution, overrun: Overrun): CodeExecution {
  const error = errorOf(describeOverrun(overrun));
  return { ...execution, status: "error", error, result: null, exitCode: null };
}

/** Of a cell that is not run, since the workspace holds far too much. */
export function refusedRun(
  { code, sequence }: { readonly code: string; readonly sequence: number },
  overrun: Overrun,
  isolation: Isolation,
): CodeExecution {
  return {
    number: sequence,
    code,
    status: "error",
    stdout: "",
    stderr: "",
    error: errorOf(describeRefusal(overrun)),
    result: null,
    outputs: [],
    omitted: { stdout: 0, stderr: 0 },
    exitCode: null,
    background: 0,
    duration: 0,
    isolation,
    state: { survived: true, checkpoint: null },
  };
}

function errorOf({ name, message, hint }: OverrunReport): ExecutionError {
  return { type: name, message, traceback: `${name}: ${message}`, hint };
}

/** What became of the state, where that is not as usual. */
export function stateNotes(
  { state }: CodeExecution,
  tookEffect: boolean,
  /** The numbers of cells whose effects went with it. */
  forgotten: readonly number[],
): string[] {
  const notes: string[] = [];
  if (!state.survived) notes.push(`variables were lost: ${lossOf(state, forgotten)}`);
  else if (!tookEffect) notes.push("what this cell did to the variables was taken back");
  if (state.lost !== undefined && state.lost.length > 0) {
    notes.push(`closed when the state was restored: ${state.lost.join(", ")}`);
  }
  return notes;
}

/** The session counts its cells otherwise than the notebook, and its words do too. */
function lossOf({ checkpoint, reason }: StateReport, forgotten: readonly number[]): string {
  if (checkpoint === null) return reason ?? "the session ended";
  const without = forgotten.length === 0 ? "" : `, without the effects of ${cellList(forgotten)}`;
  return `an earlier state was restored${without}`;
}

function hasChanges({ created, changed, deleted, omitted = 0 }: FileChanges): boolean {
  return created.length + changed.length + deleted.length + omitted > 0;
}
