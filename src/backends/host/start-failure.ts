import { CellarError, describeError, type ErrorCode, isCellarError } from "../../errors.js";
import { osRelease } from "../../isolation/python-needed.js";
import {
  diagnose,
  type IsolationCause,
  type OtherCause,
  remedyFor,
  type Trouble,
} from "../../isolation/remedies.js";
import { machine } from "./machine.js";

/** How a killed process ends: by a signal, or behind a wall that passes it on. */
const KILLED = /^(SIG(KILL|TERM|HUP|INT|QUIT)|exit (129|130|131|137|143))$/;
const SAID_KILLED = /was ended by signal (1|2|3|9|15)\b/;

/** Errors that already name the cause and the remedy. */
const TELLING: readonly ErrorCode[] = [
  "IO_ERROR",
  "INVALID_CONFIG",
  "PACKAGE_INCOMPLETE",
  "PYTHON_UNSUITABLE",
];

/** This machine does not offer the isolation that a session needs. */
export function unavailable(message: string, cause: IsolationCause): CellarError {
  return refused(message, { about: "isolation", cause });
}

export function explainStartFailure(error: unknown): CellarError {
  if (isCellarError(error)) {
    const { code, remedy, details } = error;
    const isTold = code === "START_FAILED" && remedy !== undefined && details.cause !== "unknown";
    if (isTold || TELLING.includes(code)) return error;
  }
  const said = describeError(error);
  const trouble = diagnose(said, machine());
  return trouble.cause === "unknown" && wasKilled(error) ? killed(said) : refused(said, trouble);
}

function refused(message: string, { about, cause }: Trouble): CellarError {
  const code = about === "isolation" ? "SANDBOX_UNAVAILABLE" : codeOf(cause);
  return new CellarError(code, `Could not create the sandbox: ${message}`, {
    remedy: remedyFor(cause, osRelease()),
    details: { cause, ...(about === "isolation" && { option: "minIsolation" }) },
  });
}

/** For an unknown cause, callers that allow less isolation get a session without walls. */
function codeOf(cause: OtherCause): ErrorCode {
  switch (cause) {
    case "unknown":
      return "SANDBOX_UNAVAILABLE";
    case "own-files":
      return "PACKAGE_INCOMPLETE";
    case "no-space":
    case "no-permission":
    case "temporary-hidden":
    case "read-only":
      return "IO_ERROR";
    default:
      return "START_FAILED";
  }
}

/** Then nothing is known about what this machine can do. */
function wasKilled(error: unknown): boolean {
  if (!isCellarError(error)) return false;
  const { how = "", said = "" } = error.details;
  return KILLED.test(String(how)) || SAID_KILLED.test(String(said));
}

function killed(said: string): CellarError {
  const message = `The sandbox was killed while it was starting: ${said}`;
  return new CellarError("START_FAILED", message, {
    remedy: "Try again. If it happens again, check whether the machine is out of memory.",
  });
}
