import { type CellarError, isCellarError } from "../../errors.js";

/** With these codes the daemon refused something that this process may be able to do itself. */
const LOCALLY_POSSIBLE = [
  "DAEMON_UNAVAILABLE",
  "SANDBOX_UNAVAILABLE",
  "PYTHON_UNSUITABLE",
  "START_FAILED",
  "SESSION_LOST",
  "SESSION_CLOSED",
  "PROTOCOL_ERROR",
  "IO_ERROR",
] as const;

export function isRefusal(error: unknown): error is CellarError {
  return LOCALLY_POSSIBLE.some((code) => isCellarError(error, code));
}

/** Whether the connection was lost, as opposed to a request that the daemon refused. */
export function isConnectionLost(error: unknown): error is CellarError {
  return isCellarError(error, "SESSION_LOST") && error.details.reason === "daemon";
}

/** Whether no daemon was running, so that one may be started. */
export function isDaemonAbsent(error: unknown): boolean {
  return isCellarError(error, "DAEMON_UNAVAILABLE") && error.details.cause === "absent";
}

/** Whether a process listened but did not answer. */
export function isDaemonSilent(error: unknown): boolean {
  return isCellarError(error, "DAEMON_UNAVAILABLE") && error.details.cause === "silent";
}
