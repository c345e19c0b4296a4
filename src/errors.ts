/** Every way Cellar itself can fail. A failed cell is a result, not one of these. */
export const ERROR_CODES = [
  "SANDBOX_UNAVAILABLE",
  "INVALID_CONFIG",
  "INVALID_INPUT",
  "PYTHON_UNSUITABLE",
  "PACKAGE_INCOMPLETE",
  "START_FAILED",
  "SESSION_CLOSED",
  "SESSION_LOST",
  "CHECKPOINT_GONE",
  "UNSUPPORTED",
  "PROTOCOL_ERROR",
  "REMOTE_ERROR",
  "TOO_LARGE",
  "DAEMON_UNAVAILABLE",
  "INSTALL_FAILED",
  "ABORTED",
  "IO_ERROR",
  "CONFLICT",
  "LOCKED",
  "NOT_FOUND",
  "DAMAGED",
  "LIMIT_REACHED",
  "STATE_REFUSED",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorOptions {
  /** What the reader can do about it. */
  remedy?: string | undefined;
  details?: Readonly<Record<string, unknown>> | undefined;
  cause?: unknown;
}

export class CellarError extends Error {
  override readonly name = "CellarError";
  readonly code: ErrorCode;
  readonly remedy: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.remedy = options.remedy;
    this.details = options.details ?? {};
  }
}

export function isCellarError(value: unknown, code?: ErrorCode): value is CellarError {
  return value instanceof CellarError && (code === undefined || value.code === code);
}

/** A number with its noun: `1 run`, `2 runs`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** The text of anything that was thrown. */
export function describeError(value: unknown): string {
  return value instanceof Error ? value.message : String(value);
}

/** The last line of a traceback. */
export function errorLine(name: string, message: string): string {
  return message === "" ? name : `${name}: ${message}`;
}
