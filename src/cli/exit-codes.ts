import type { ExecutionStatus } from "../backends/backend.js";
import type { CellarError, ErrorCode } from "../errors.js";

/** The exit codes of `cellar`, unless the guest's `sys.exit` decides. Stable. */
export const EXIT = {
  ok: 0,
  /** The code raised, a check failed, or a step of the demo failed. */
  failed: 1,
  /** Nothing was run: the command line, the settings or an input file cannot be used. */
  usage: 2,
  timeout: 124,
  /** Cellar itself failed, for example because the sandbox is unavailable. */
  cellar: 125,
  cancelled: 130,
  crashed: 134,
  oom: 137,
  /** The reader of our output closed it. */
  brokenPipe: 141,
  terminated: 143,
} as const;

export function exitCodeOf({
  status,
  exitCode,
}: {
  readonly status: ExecutionStatus;
  readonly exitCode: number | null;
}): number {
  if (exitCode !== null) return exitCode & 0xff;
  return status === "error" ? EXIT.failed : EXIT[status];
}

const USAGE_ERRORS: readonly ErrorCode[] = [
  "INVALID_CONFIG",
  "INVALID_INPUT",
  "TOO_LARGE",
  "NOT_FOUND",
  "LIMIT_REACHED",
  "CHECKPOINT_GONE",
];

/** `details.named` is something unusable that the caller named, such as a file. */
export function exitCodeFor({ code, cause, details }: CellarError): number {
  const isFileForFolder =
    code === "IO_ERROR" && cause instanceof Error && "code" in cause && cause.code === "ENOTDIR";
  if (details.named !== undefined || isFileForFolder || USAGE_ERRORS.includes(code)) {
    return EXIT.usage;
  }
  if (code === "ABORTED") return EXIT.cancelled;
  return code === "INSTALL_FAILED" ? EXIT.failed : EXIT.cellar;
}
