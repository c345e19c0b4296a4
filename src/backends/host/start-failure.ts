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

/** How a process ends that somebody has ended: by a signal, or by a wall that passes it on. */
const KILLED = /^(SIG(KILL|TERM|HUP|INT|QUIT)|exit (129|130|131|137|143))$/;
const SAID_KILLED = /was ended by signal (1|2|3|9|15)\b/;

/** These tell themselves what is the matter and what to do. */
const TELLING: readonly ErrorCode[] = [
  "IO_ERROR",
  "INVALID_CONFIG",
  "PACKAGE_INCOMPLETE",
  "PYTHON_UNSUITABLE",
];

/** The isolation that a session needs cannot be had here. */
export function unavailable(message: string, cause: IsolationCause): CellarError {
  return refused(message, { about: "isolation", cause });
}

export function fallen(error: unknown): CellarError {
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
  return new CellarError(code, `The sandbox cannot be made: ${message}`, {
    remedy: remedyFor(cause, osRelease()),
    details: { cause, ...(about === "isolation" && { option: "minIsolation" }) },
  });
}

/** Who asked for less isolation is given it where nobody knows why more cannot be had. */
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

/** That tells nothing about what this machine can do. */
function wasKilled(error: unknown): boolean {
  if (!isCellarError(error)) return false;
  const { how = "", said = "" } = error.details;
  return KILLED.test(String(how)) || SAID_KILLED.test(String(said));
}

function killed(said: string): CellarError {
  const message = `The sandbox was ended from outside while it started: ${said}`;
  return new CellarError("START_FAILED", message, {
    remedy: "Try again. If it happens again, see who ends it: mostly the machine is out of memory.",
  });
}
