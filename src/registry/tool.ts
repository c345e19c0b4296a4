/** What a tool may touch; a policy can refuse each. */
export const PERMISSIONS = ["network", "filesystem", "shell", "compute"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Who calls: a cell, one step of a chained turn, or the host's own code. */
export const CALLER_TYPES = ["cell", "chain", "host"] as const;
export type CallerType = (typeof CALLER_TYPES)[number];

/** A JSON Schema, as far as it is looked at here. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ToolLimits {
  readonly timeoutMs?: number | undefined;
  /** Calls at the same time. */
  readonly concurrency?: number | undefined;
  readonly callsPerMinute?: number | undefined;
  readonly maxResultBytes?: number | undefined;
}

/** State outside the session that a call reads or writes; `{path}` stands for the argument `path`. */
export interface ToolEffects {
  readonly reads?: readonly string[] | undefined;
  readonly writes?: readonly string[] | undefined;
}

/** What is known of a tool before it is called. */
export interface ToolDeclaration {
  /** The name within its group: a Python identifier. */
  readonly name: string;
  readonly description: string;
  readonly category?: string | undefined;
  /** A JSON Schema of an object. */
  readonly parameters: JsonSchema;
  /** What it gives, in words. */
  readonly returns?: string | undefined;
  /** Whether the value is rows that Python should get as a DataFrame. */
  readonly isTable?: boolean | undefined;
  readonly permissions: readonly Permission[];
  readonly allowedCallers: readonly CallerType[];
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  readonly effects?: ToolEffects | undefined;
  readonly examples: readonly string[];
  readonly limits?: ToolLimits | undefined;
}

export interface ToolRequest {
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Aborted when the cell is cancelled, the tool's time is up, or nobody waits any more. */
  readonly signal: AbortSignal;
  readonly onProgress?: ((text: string) => void) | undefined;
}

/** Something to show beside the value, such as an image. */
export interface ToolDisplay {
  readonly mime: string;
  /** Base64 for images, text otherwise. */
  readonly data: string;
}

export interface ToolOutput {
  /** Numbers, strings, lists and plain objects. */
  readonly value: unknown;
  readonly displays?: readonly ToolDisplay[] | undefined;
  /** Set where the calling session does the work itself, now that the host has allowed it. */
  readonly inSession?: SessionWork | undefined;
}

/** A function of the session, with the arguments of the call. */
export interface SessionWork {
  readonly function: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A tool that can be called. `run` fails with a `ToolError`, or with anything else that went wrong. */
export interface RegisteredTool extends ToolDeclaration {
  /** Whether this call needs an approval, beside those of destructive tools. */
  asks?(given: Readonly<Record<string, unknown>>): Promise<boolean>;
  run(request: ToolRequest): Promise<ToolOutput>;
}

/** Where tools come from: a file, a server, a document, functions. */
export interface ToolSource extends AsyncDisposable {
  /** Python finds them as `tools.<group>.<name>`; undefined: `tools.<name>`. */
  readonly group: string | undefined;
  /** Its tools; connects or reads when it is asked for the first time. */
  tools(signal?: AbortSignal): Promise<readonly RegisteredTool[]>;
}

export const TOOL_ERROR_CODES = [
  "UNKNOWN_TOOL",
  "BAD_ARGUMENTS",
  "NOT_PERMITTED",
  "NOT_APPROVED",
  "TIMEOUT",
  "CANCELLED",
  "RATE_LIMITED",
  "TOO_LARGE",
  "UNAVAILABLE",
  "BAD_RESULT",
  "FAILED",
] as const;
export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

/** Why a call has no value. Python gets it as an exception. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ToolErrorCode;
  /** Whether the same call may work later. */
  readonly isRetryable: boolean;
  readonly remedy: string | undefined;

  constructor(
    code: ToolErrorCode,
    message: string,
    options: { isRetryable?: boolean; remedy?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.isRetryable = options.isRetryable ?? isUsuallyRetryable(code);
    this.remedy = options.remedy;
  }
}

function isUsuallyRetryable(code: ToolErrorCode): boolean {
  return code === "TIMEOUT" || code === "RATE_LIMITED" || code === "UNAVAILABLE";
}
