import { constants } from "node:os";
import type { Settings } from "../../../config.js";
import type { Result } from "../../../protocol/messages.js";
import type {
  CodeExecution,
  ExecuteOptions,
  ExecutionError,
  ExecutionStatus,
  Isolation,
  SandboxInfo,
} from "../../backend.js";
import { hasCheckpoints } from "../checks.js";
import type { StepHistory } from "../step-history.js";
import type { CellEnd, CellOrder, RunningCell, StopCause } from "./running-cell.js";

/** How a process leaves that has no memory left to say so with. */
const OUT_OF_MEMORY_EXIT = 86;
/** What Python and C++ say before they abort because there is none. */
const LAST_WORDS = /^Fatal Python error: .*MemoryError|^terminate called .*'std::bad_alloc'/m;

type CellLimits = Pick<
  CellOrder,
  "timeout" | "grace" | "queryTotal" | "maxOutputLength" | "checkpoint" | "argv" | "continues"
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
    continues: options.continues,
  };
}

/** The result of a cell that ran. */
export function assemble(
  cell: RunningCell,
  end: CellEnd,
  concluded: Omit<CodeExecution, keyof ReturnType<typeof gathered> | "replaced" | "agent"> & {
    readonly isolation: Isolation;
  },
  settings: Settings,
): CodeExecution {
  return {
    ...explained(concluded, settings),
    ...gathered(cell, concluded.isolation, end),
    ...extrasOf(end),
  };
}

/** What ran out is told with how much there was, and where it is set. */
function explained<T extends Pick<CodeExecution, "status" | "error">>(
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
function gathered(cell: RunningCell, isolation: Isolation, end?: CellEnd): Gathered {
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
function extrasOf(end: CellEnd): Pick<CodeExecution, "replaced" | "agent"> {
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

/** Status and error of a cell that was answered; what stopped it comes first. */
export function describeAnswer(
  answer: Result<"execute">,
  { cause, limit }: Pick<RunningCell, "cause" | "limit">,
): Pick<CodeExecution, "status" | "error"> {
  if (cause !== undefined) return { status: cause, error: stopError(cause, limit) };
  return { status: answeredStatus(answer), error: answer.error };
}

function answeredStatus(answer: Result<"execute">): ExecutionStatus {
  switch (answer.status) {
    case "ok":
      return "ok";
    case "error":
      return answer.error?.type === "MemoryError" ? "oom" : "error";
    case "interrupted":
      return "error";
  }
}

/** Status and error of a cell whose process died under it. */
export function describeDeath(
  end: Extract<CellEnd, { kind: "died" | "lost" }>,
  { cause, limit, collector }: Pick<RunningCell, "cause" | "limit" | "collector">,
): { status: ExecutionStatus; error: ExecutionError } {
  if (cause !== undefined) return { status: cause, error: stopError(cause, limit) };
  if (end.kind === "lost") {
    return describeLoss(end.reason.message);
  }
  if (end.broken !== undefined) {
    return crashed("ProtocolError", `The cell broke the runner's channel: ${end.broken.message}`);
  }
  const { cause: death } = end.death;
  switch (death.kind) {
    case "oom":
      return starved();
    case "signal":
      if (LAST_WORDS.test(collector.whole("stderr"))) return starved();
      return crashed("Crashed", `The process was ended by ${signalName(death.signal)}`);
    case "exit":
      if (death.code === OUT_OF_MEMORY_EXIT) return starved();
      return crashed("Crashed", `The process left with exit code ${death.code}`);
    case "killed":
      return crashed("Crashed", "The process was ended by the host");
  }
}

/** Status and error of a cell whose session was lost under it. */
export function describeLoss(reason: string): { status: "crashed"; error: ExecutionError } {
  return crashed("SessionLost", `The session ended during the cell: ${reason}`);
}

function starved(): { status: "oom"; error: ExecutionError } {
  return {
    status: "oom",
    error: plain("MemoryError", "The cell exceeded the memory limit and was ended"),
  };
}

export function stopError(cause: StopCause, limit: string): ExecutionError {
  switch (cause) {
    case "timeout":
      return plain("TimeoutError", `The cell exceeded ${limit}`);
    case "cancelled":
      return plain("Cancelled", "The cell was cancelled");
  }
}

function crashed(type: string, message: string): { status: "crashed"; error: ExecutionError } {
  return { status: "crashed", error: plain(type, message) };
}

function plain(type: string, message: string): ExecutionError {
  return { type, message, traceback: `${type}: ${message}` };
}

function signalName(number: number): string {
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return name === undefined ? `signal ${number}` : `${name} (signal ${number})`;
}
