import type { Settings } from "../../../config.js";
import type { CodeExecution, ExecuteOptions, Isolation, SandboxInfo } from "../../backend.js";
import { hasCheckpoints } from "../checks.js";
import type { StepHistory } from "../step-history.js";
import { type CellEnd, type CellOrder, type RunningCell, stopError } from "./running-cell.js";

type CellLimits = Pick<
  CellOrder,
  "timeout" | "grace" | "queryTotal" | "maxOutputLength" | "checkpoint" | "argv"
>;

/** What a cell may take: by the sandbox's settings, or as its caller wants it this time. */
export function cellLimits(settings: Settings, options: ExecuteOptions): CellLimits {
  return {
    timeout: options.timeout ?? settings.timeout,
    grace: settings.grace,
    queryTotal: settings.queryTotal,
    maxOutputLength: options.maxOutputLength ?? settings.maxOutputLength,
    checkpoint: settings.checkpoints,
    argv: options.argv,
  };
}

/** What ran out is told with how much there was, and where it is set. */
export function explained<T extends Pick<CodeExecution, "status" | "error">>(
  ended: T,
  { limits }: Settings,
): T {
  if (ended.status !== "oom" || ended.error === null) return ended;
  const hint =
    `the memory limit of the session is ${limits.memoryMb} MB: work on a part of the data at a time, ` +
    "or raise it with limits.memoryMb (--memory on the command line)";
  return { ...ended, error: { ...ended.error, hint } };
}

type Gathered = Pick<
  CodeExecution,
  "stdout" | "stderr" | "outputs" | "omitted" | "background" | "isolation"
>;

/** What a cell wrote and left running. */
export function gathered(cell: RunningCell, isolation: Isolation, end?: CellEnd): Gathered {
  const answer = end?.kind === "answered" ? end.answer : undefined;
  if (answer !== undefined && (answer.result !== null || answer.error !== null)) {
    cell.collector.end(answer.end_seq);
  }
  return {
    stdout: cell.collector.whole("stdout"),
    stderr: cell.collector.whole("stderr"),
    outputs: cell.collector.outputs(),
    omitted: cell.report?.omitted ?? { stdout: 0, stderr: 0 },
    background: cell.report?.processes ?? 0,
    isolation,
  };
}

/** What only some answers have. */
export function extrasOf(end: CellEnd): Pick<CodeExecution, "replaced" | "agent"> {
  if (end.kind !== "answered") return {};
  const { replaced, agent } = end.answer;
  return { ...(replaced !== undefined && { replaced }), ...(agent !== undefined && { agent }) };
}

/** The result of a cell that was cancelled before its turn came. */
export function unrun(
  cell: RunningCell,
  { present }: StepHistory,
  { number, code, info }: { number: number; code: string; info: SandboxInfo },
): CodeExecution {
  const checkpoint = hasCheckpoints(info) ? present.id : null;
  return {
    number,
    code,
    status: "cancelled",
    error: stopError("cancelled", ""),
    result: null,
    exitCode: null,
    ...gathered(cell, info.isolation),
    duration: 0,
    state: { survived: true, checkpoint, reason: "the cell was not begun" },
  };
}
