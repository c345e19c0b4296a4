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
import { checkpointPolicy } from "../checkpoint-policy.js";
import { hasCheckpoints } from "../checks.js";
import type { StepHistory } from "../step-history.js";
import type { CellEnd, CellOrder, RunningCell, StopCause } from "./running-cell.js";

/** How a process leaves that has no memory left to say so with. */
const OUT_OF_MEMORY_EXIT = 86;
/** What Python and C++ say before they abort because there is none. */
const LAST_WORDS = /^Fatal Python error: .*MemoryError|^terminate called .*'std::bad_alloc'/m;

type CellLimits = Pick<
  CellOrder,
  "timeout" | "grace" | "queryTotal" | "maxOutputLength" | "policy" | "argv" | "continues"
>;

/** What a cell may take: by the sandbox's settings, or as its caller wants it this time. */
export function cellLimits(settings: Settings, options: ExecuteOptions): CellLimits {
  return {
    timeout: options.timeout ?? settings.timeout,
    grace: settings.grace,
    queryTotal: settings.queryTotal,
    maxOutputLength: options.maxOutputLength ?? settings.maxOutputLength,
    policy: checkpointPolicy(settings),
    argv: options.argv,
    continues: options.continues,
  };
}

type Outcome = Pick<CodeExecution, "status" | "error" | "result" | "exitCode">;

export function assemble(
  cell: RunningCell,
  end: CellEnd,
  known: Outcome & Pick<CodeExecution, "number" | "code" | "duration" | "isolation" | "state">,
): CodeExecution {
  return { ...known, ...gathered(cell, known.isolation, end), ...extrasOf(end) };
}

/** How a cell ended; what stopped it comes first. */
export function outcomeOf(end: CellEnd, cell: RunningCell, { limits }: Settings): Outcome {
  const outcome =
    end.kind === "answered" ? describeAnswer(end.answer, cell) : describeDeath(end, cell);
  if (outcome.status !== "oom" || outcome.error === null) return outcome;
  const hint =
    `the memory limit of the session is ${limits.memoryMb} MB: work on a part of the data at a time, ` +
    "or raise it with limits.memoryMb (--memory on the command line)";
  return { ...outcome, error: { ...outcome.error, hint } };
}

type Gathered = Pick<
  CodeExecution,
  "stdout" | "stderr" | "outputs" | "omitted" | "background" | "isolation"
>;

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

function extrasOf(end: CellEnd): Pick<CodeExecution, "replaced" | "agent"> {
  if (end.kind !== "answered") return {};
  const { replaced, agent } = end.answer;
  return { ...(replaced !== undefined && { replaced }), ...(agent !== undefined && { agent }) };
}

export function unrun(
  cell: RunningCell,
  { present }: StepHistory,
  { number, code, info }: { number: number; code: string; info: SandboxInfo },
): CodeExecution {
  const checkpoint = hasCheckpoints(info) ? present.id : null;
  return {
    number,
    code,
    ...without("cancelled", stopError("cancelled", "")),
    ...gathered(cell, info.isolation),
    duration: 0,
    state: { survived: true, checkpoint, reason: "the cell was not started" },
  };
}

function describeAnswer(answer: Result<"execute">, { cause, limit }: RunningCell): Outcome {
  const { result, exit_code: exitCode } = answer;
  return cause === undefined
    ? { status: answeredStatus(answer), error: answer.error, result, exitCode }
    : { status: cause, error: stopError(cause, limit), result, exitCode };
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

function describeDeath(
  end: Extract<CellEnd, { kind: "died" | "lost" }>,
  { cause, limit, collector }: RunningCell,
): Outcome {
  if (cause !== undefined) return without(cause, stopError(cause, limit));
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

export function describeLoss(reason: string): Outcome {
  return crashed("SessionLost", `The session ended during the cell: ${reason}`);
}

function starved(): Outcome {
  return without("oom", plain("MemoryError", "The cell exceeded the memory limit and was ended"));
}

export function stopError(cause: StopCause, limit: string): ExecutionError {
  switch (cause) {
    case "timeout":
      return plain("TimeoutError", `The cell exceeded ${limit}`);
    case "cancelled":
      return plain("Cancelled", "The cell was cancelled");
  }
}

function crashed(type: string, message: string): Outcome {
  return without("crashed", plain(type, message));
}

function without(status: ExecutionStatus, error: ExecutionError): Outcome {
  return { status, error, result: null, exitCode: null };
}

function plain(type: string, message: string): ExecutionError {
  return { type, message, traceback: `${type}: ${message}` };
}

function signalName(number: number): string {
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return name === undefined ? `signal ${number}` : `${name} (signal ${number})`;
}
