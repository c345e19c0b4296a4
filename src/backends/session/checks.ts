import { LONGEST_OUTPUT, LONGEST_TIMEOUT_MS } from "../../config/environment.js";
import {
  checkNames,
  checkSignal,
  type OptionNames,
  requireOptions,
  requireText,
  shownValue,
} from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import { MAX_ARGUMENTS, MAX_SOURCE_BYTES } from "../../protocol/bounds.js";
import type { ExecuteOptions, SandboxInfo } from "../backend.js";

const CELL_OPTIONS: OptionNames<ExecuteOptions> = {
  timeout: true,
  maxOutputLength: true,
  argv: true,
  continues: true,
  signal: true,
};

export function checkSource(code: string, options: ExecuteOptions): void {
  checkNames("execute", requireOptions("the options of a cell", options), CELL_OPTIONS);
  checkSignal(options.signal);
  checkLimit("timeout", options.timeout, 1, LONGEST_TIMEOUT_MS);
  checkLimit("maxOutputLength", options.maxOutputLength, 0, LONGEST_OUTPUT);
  checkArguments(options.argv);
  if (typeof code !== "string") {
    throw new CellarError("INVALID_INPUT", `the code must be a string, not ${typeof code}`);
  }
  const bytes = Buffer.byteLength(code);
  if (bytes > MAX_SOURCE_BYTES) {
    throw new CellarError(
      "TOO_LARGE",
      `the code has ${bytes} bytes; ${MAX_SOURCE_BYTES} are allowed`,
      { remedy: "Pass data with setVariable, initialize or a mounted file, not as source." },
    );
  }
}

function checkArguments(argv: readonly string[] | undefined): void {
  if (argv === undefined) return;
  const isFit = (word: unknown) => typeof word === "string" && !word.includes("\0");
  if (Array.isArray(argv) && argv.length > 0 && argv.length <= MAX_ARGUMENTS && argv.every(isFit)) {
    return;
  }
  throw new CellarError(
    "INVALID_INPUT",
    `argv must be 1 to ${MAX_ARGUMENTS} strings without NUL, the first of which names the script`,
  );
}

export function checkLimit(
  name: string,
  value: number | undefined,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): void {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`;
  throw new CellarError(
    "INVALID_INPUT",
    `${name} must be a whole number from ${range}, not ${shownValue(value)}`,
  );
}

export function checkVariableName(name: string): void {
  requireText("the name of a variable", name);
  if (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) return;
  throw new CellarError("INVALID_INPUT", `${JSON.stringify(name)} is not a Python variable name`);
}

/** Going back and forking stand on checkpoints, which only a zygote's sessions have. */
export function checkAbility(info: SandboxInfo, what: string): void {
  if (hasCheckpoints(info)) return;
  const place = info.backend === "pyodide" ? "Pyodide" : "a plain process";
  throw new CellarError("UNSUPPORTED", `${what} needs checkpoints, and ${place} has none`, {
    remedy:
      info.backend === "pyodide"
        ? 'Use backend: "native".'
        : "Run where bubblewrap works (Linux with user namespaces); `info.reason` says what is missing here.",
    details: { reason: info.reason },
  });
}

export function hasCheckpoints({ mode }: SandboxInfo): boolean {
  return mode === "zygote";
}

export function unforkable(): CellarError {
  return new CellarError("CHECKPOINT_GONE", "there is no checkpoint of this state to fork", {
    remedy: 'Sessions with threads, much memory or checkpoints: "off" cannot be forked.',
  });
}

/** A cell waits for the function, which would wait for the cell. */
export function calledFromWithin(): CellarError {
  return new CellarError("INVALID_INPUT", "the sandbox is waiting for the function that calls it", {
    remedy:
      "Use another sandbox in onLLMQuery, onRLMQuery and tools, or wait until the cell has ended.",
  });
}

export function closedError(
  why: string,
  remedy = "Make a new one with createSandbox().",
): CellarError {
  return new CellarError("SESSION_CLOSED", why, { remedy });
}
