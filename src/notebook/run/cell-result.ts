import type {
  CodeExecution,
  ExecutionError,
  ExecutionStatus,
  Isolation,
} from "../../backends/backend.js";
import { checkLimit } from "../../backends/session/checks.js";
import { LONGEST_TIMEOUT_MS } from "../../config/environment.js";
import { checkNames, checkSignal, requireFunction, requireOptions } from "../../config/kinds.js";
import type { Cell, CellState, FileChanges } from "../cell.js";
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
  /** Gets what the cell prints, as it is printed. */
  onText?: ((text: string) => void) | undefined;
}

export function checkRun(options: CellRunOptions): void {
  const given = requireOptions("the options of a run", options);
  checkNames("the run of a cell", given, { timeout: true, signal: true, onText: true });
  checkSignal(options.signal);
  if (options.onText !== undefined) requireFunction("onText", options.onText);
  checkLimit("timeout", options.timeout, 1, LONGEST_TIMEOUT_MS);
}

export interface CellRun {
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

export interface RunRecord extends Pick<Cell, "outputs" | "resources"> {
  readonly sequence: number;
  readonly startedAt: Date;
  readonly files: FileChanges;
  readonly notes: readonly string[];
}

/** The cell after a run, with nothing of an earlier one. */
export function cellAfter(cell: Cell, execution: CodeExecution, run: RunRecord): Cell {
  const { id, index, code, createdAt } = cell;
  const { sequence, startedAt, files, notes, outputs, resources } = run;
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
    duration: execution.duration,
    ...(exitCode !== null && { exitCode }),
    ...(hasChanges(files) && { files }),
    ...((omitted.stdout > 0 || omitted.stderr > 0) && { omitted }),
    ...(notes.length > 0 && { notes: [...notes] }),
  };
}

/** A full workspace fails the cell, however it ended. */
export function overrunning(execution: CodeExecution, overrun: Overrun): CodeExecution {
  const error = errorOf(describeOverrun(overrun));
  return { ...execution, status: "error", error, result: null, exitCode: null };
}

/** For a cell that is not run because the workspace is far too full. */
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

function hasChanges({ created, changed, deleted, omitted = 0 }: FileChanges): boolean {
  return created.length + changed.length + deleted.length + omitted > 0;
}
