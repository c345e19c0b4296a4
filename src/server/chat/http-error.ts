import { type CellarError, isCellarError } from "../../errors.js";

export interface HttpErrorOptions {
  /** For programs. */
  readonly code?: string | undefined;
  /** The field of the request that is meant. */
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A request that gets an error in OpenAI's form. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, options: HttpErrorOptions = {}) {
    super(message);
    this.status = status;
    this.code = options.code;
    this.param = options.param;
    this.headers = options.headers ?? {};
  }

  get body() {
    const { message, status, code = null, param = null } = this;
    return { error: { message, type: typeOf(status), code, param } };
  }
}

/** What is wrong with a request; `param` is the field. */
export function invalid(message: string, param?: string, code?: string): HttpError {
  return new HttpError(400, message, { param, code });
}

const RETRY_AFTER_SECONDS = 5;

export function tooMany(): HttpError {
  return new HttpError(429, "too many requests; try again later", {
    code: "rate_limit_exceeded",
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}

/** Clients ask again after these by themselves, and a run costs too much for that. */
const ONCE = { "x-should-retry": "false" };

/** A run without an answer. The client only gets what it may know. */
export function failedRun(error: CellarError | undefined): HttpError {
  const code = error?.code;
  return code === "REMOTE_ERROR"
    ? new HttpError(502, error?.message ?? "the model failed", { code, headers: ONCE })
    : new HttpError(500, "the run failed; see the server's log", { code, headers: ONCE });
}

/** A run is cancelled when its client disconnects or the server closes. */
export function cancelledRun(): HttpError {
  return new HttpError(503, "the server is closing", { code: "ABORTED" });
}

/** Any other error becomes a response that reveals nothing internal. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  return failedRun(isCellarError(error) ? error : undefined);
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "run_failed";
}
