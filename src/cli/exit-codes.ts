import type { CodeExecution } from "../backends/backend.js";
import type { CellarError, ErrorCode } from "../errors.js";

/** What `cellar` leaves with when no `sys.exit` of the guest decides. Stable. */
export const EXIT = {
  ok: 0,
  /** The code raised, a check failed, or a part of the demo did not happen. */
  failed: 1,
  /** Nothing was run: the command line, the settings or an input file cannot be used. */
  usage: 2,
  timeout: 124,
  /** Cellar could not do its work, for one because the sandbox is unavailable. */
  cellar: 125,
  cancelled: 130,
  crashed: 134,
  oom: 137,
  /** The reader of our output went away. */
  brokenPipe: 141,
  terminated: 143,
} as const;

export function exitCodeOf({ status, exitCode }: CodeExecution): number {
  if (exitCode !== null) return exitCode & 0xff;
  switch (status) {
    case "ok":
      return EXIT.ok;
    case "error":
      return EXIT.failed;
    case "timeout":
      return EXIT.timeout;
    case "cancelled":
      return EXIT.cancelled;
    case "oom":
      return EXIT.oom;
    case "crashed":
      return EXIT.crashed;
  }
}

/** `details.named` is what the caller named and what cannot be used, such as a file. */
export function exitCodeFor(error: CellarError): number {
  const isNamed = error.details.named !== undefined;
  return isNamed || hasFileForFolder(error) ? EXIT.usage : exitCodeForCode(error.code);
}

function hasFileForFolder({ code, cause }: CellarError): boolean {
  return (
    code === "IO_ERROR" && cause instanceof Error && "code" in cause && cause.code === "ENOTDIR"
  );
}

function exitCodeForCode(code: ErrorCode): number {
  switch (code) {
    case "INVALID_CONFIG":
    case "INVALID_INPUT":
    case "TOO_LARGE":
    case "NOT_FOUND":
    case "LIMIT_REACHED":
    case "CHECKPOINT_GONE":
      return EXIT.usage;
    case "ABORTED":
      return EXIT.cancelled;
    case "INSTALL_FAILED":
      return EXIT.failed;
    case "SANDBOX_UNAVAILABLE":
    case "PYTHON_UNSUITABLE":
    case "PACKAGE_INCOMPLETE":
    case "START_FAILED":
    case "SESSION_CLOSED":
    case "SESSION_LOST":
    case "UNSUPPORTED":
    case "PROTOCOL_ERROR":
    case "REMOTE_ERROR":
    case "DAEMON_UNAVAILABLE":
    case "IO_ERROR":
    case "CONFLICT":
    case "LOCKED":
    case "DAMAGED":
    case "STATE_REFUSED":
      return EXIT.cellar;
  }
}
