import { constants } from "node:buffer";
import type { CodeExecution } from "../backends/backend.js";
import { checkRuntime, splitConfig } from "../backends/options.js";
import { sharedRuntime } from "../backends/shared.js";
import type { StatefulSandbox } from "../backends/stateful-sandbox.js";
import { kindOf } from "../config/kinds.js";
import { resolveSettings, type Settings } from "../config.js";
import { CellarError, errorLine, isCellarError } from "../errors.js";
import { needingPython } from "../isolation/python-needed.js";
import type { RestoreReport } from "../protocol/messages.js";
import { TemporarySessionDir } from "./run/temporary-dir.js";
import type { RunOnceOptions, RunOnceResult } from "./run-once.js";
import { describeOverrun } from "./workspace/quota.js";
import { Workspace } from "./workspace/workspace.js";

const MEBIBYTE = 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const OWN_NAMES = ["code", "state", "captureState", "files", "runtime"];

/** As a shell reports them. */
const EXIT_CODES = {
  ok: 0,
  error: 1,
  timeout: 124,
  cancelled: 130,
  crashed: 134,
  oom: 137,
} as const;

/** What `runOnce` does, once it is called. */
export async function runInNewSession(options: RunOnceOptions): Promise<RunOnceResult> {
  const { code, state, captureState, files, runtime, ...config } = checked(options);
  const settings = resolveSettings(splitConfig(config).options, undefined, undefined, OWN_NAMES);
  const given = decodeState(state, settings);
  if (typeof given === "string") return refused(given);
  await using temporary = new TemporarySessionDir(given);
  const workspace = new Workspace(temporary.workspace, settings.limits);
  for (const [path, content] of Object.entries(files ?? {})) await workspace.put(path, content);
  const before = await workspace.scan();
  // One cell needs no checkpoints; its state is captured from a copy.
  const env = { CELLAR_NAMES: "preloaded", ...config.env };
  const sandboxConfig = { ...config, env, checkpoints: "off" } as const;
  const source = checkRuntime(runtime) ?? (await sharedRuntime());
  const started = source.createSandbox(sandboxConfig, undefined, temporary.sessionDir);
  await using sandbox = await needingPython("runOnce() needs", started);
  const restored = given && (await restore(sandbox, temporary.stateFile));
  if (typeof restored === "string") return refused(restored);
  const execution = await runWithin(workspace, sandbox, code, config.signal);
  const captured =
    captureState === true && (execution.status === "ok" || execution.status === "error")
      ? await capture(sandbox, settings, config.signal)
      : { state: null, error: null };
  // Ends background processes before the files are listed.
  await sandbox.destroy();
  const { created } = (await workspace.changesSince(before)).changes;
  const ended = outcomeOf(execution);
  return {
    stdout: execution.stdout,
    stderr: joined([notesOn(restored), execution.stderr, ended.words]),
    exit_code: ended.exitCode,
    state: captured.state,
    files: created,
    error: ended.error ?? captured.error,
  };
}

function checked(options: RunOnceOptions): RunOnceOptions {
  const problem = problemOf(options);
  if (problem === undefined) return options;
  throw new CellarError("INVALID_INPUT", `runOnce: ${problem}`, {
    remedy: "Give { code, state?, captureState?, files? } and the settings of a sandbox.",
  });
}

function problemOf(options: RunOnceOptions): string | undefined {
  if (typeof options !== "object" || options === null) {
    return `the options must be an object such as { code: "1 + 1" }, not ${kindOf(options)}`;
  }
  const { code, state = null, captureState = false, files = {} } = options;
  if (typeof code !== "string") return "code must be a text";
  if (state !== null && typeof state !== "string") return "state must be a text";
  if (typeof captureState !== "boolean") return "captureState must be true or false";
  if (typeof files !== "object" || files === null) {
    return "files must be an object of paths and contents";
  }
  return "backend" in options ? "it always uses the native backend; remove `backend`" : undefined;
}

/** A string is what is wrong with it. */
function decodeState(
  state: string | null | undefined,
  settings: Settings,
): Buffer | string | undefined {
  if (state === undefined || state === null || state === "") return undefined;
  const most = mostStateBytes(settings);
  if ((state.length / 4) * 3 > most + 2) return `it is larger than ${most} bytes`;
  if (state.length % 4 !== 0 || !BASE64.test(state)) return "it is not base64";
  return Buffer.from(state, "base64");
}

function mostStateBytes({ stateMaxSizeMb }: Settings): number {
  return Math.min(stateMaxSizeMb * MEBIBYTE, Math.floor(constants.MAX_STRING_LENGTH / 4) * 3);
}

function refused(problem: string): RunOnceResult {
  const error = `State restoration failed: ${problem}`;
  return { stdout: "", stderr: error, exit_code: 1, state: null, files: [], error };
}

/** A string is what is wrong with the state. */
async function restore(sandbox: StatefulSandbox, file: string): Promise<RestoreReport | string> {
  try {
    return await sandbox.restore(file);
  } catch (error) {
    return problemWith(error);
  }
}

async function capture(
  sandbox: StatefulSandbox,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Pick<RunOnceResult, "state" | "error">> {
  let pieces: Uint8Array[] = [];
  const open = () => {
    pieces = [];
    return async (piece: Uint8Array) => {
      pieces.push(piece);
    };
  };
  try {
    const maxBytes = mostStateBytes(settings);
    await sandbox.capture(open, { maxBytes, private: false, strict: true, signal });
    return { state: Buffer.concat(pieces).toString("base64"), error: null };
  } catch (error) {
    if (signal?.aborted === true) throw aborted(signal);
    return { state: null, error: `State serialization failed: ${problemWith(error)}` };
  }
}

/** Rethrows what is not about the state. */
function problemWith(error: unknown): string {
  if (!isCellarError(error)) throw error;
  switch (error.code) {
    case "STATE_REFUSED":
    case "TOO_LARGE":
    case "DAMAGED":
    case "REMOTE_ERROR":
    case "PROTOCOL_ERROR":
    case "SESSION_LOST":
      return error.message;
    default:
      throw error;
  }
}

async function runWithin(
  workspace: Workspace,
  sandbox: StatefulSandbox,
  code: string,
  signal: AbortSignal | undefined,
): Promise<CodeExecution> {
  const failures: unknown[] = [];
  const stop = () => void sandbox.cancel();
  using _watch = workspace.quota.watch(stop, (error) => {
    failures.push(error);
    stop();
  });
  const execution = await sandbox.execute(code, { signal });
  if (signal?.aborted === true) throw aborted(signal);
  if (failures.length > 0) throw failures[0];
  const overrun = workspace.quota.judge(await workspace.usage());
  if (overrun === undefined) return execution;
  const { name: type, message, hint } = describeOverrun(overrun);
  const error = { type, message, traceback: `${type}: ${message} (${hint})`, hint };
  return { ...execution, status: "error", exitCode: null, error };
}

function aborted(signal: AbortSignal): CellarError {
  return new CellarError("ABORTED", "the run was aborted", { cause: signal.reason });
}

function outcomeOf({ status, error, exitCode }: CodeExecution) {
  if (exitCode !== null && error !== null) {
    const isSilent = error.message === String(exitCode) || error.message === "";
    const told = exitCode === 0 ? null : errorLine(error.type, error.message);
    return { exitCode, error: told, words: isSilent ? "" : error.message };
  }
  const told = error && errorLine(error.type, withoutPlace(error.message));
  return { exitCode: EXIT_CODES[status], error: told, words: error?.traceback ?? "" };
}

/** The traceback has the place of a syntax error too. */
function withoutPlace(message: string): string {
  return message.replace(/ \(<cell \d+>, line \d+\)$/, "");
}

function notesOn(report: RestoreReport | undefined): string {
  const { lost = [], warnings = [] } = report ?? {};
  const losses = lost.map(({ name, reason }) => `'${name}' was lost: ${reason}`);
  return [...losses, ...warnings].map((note) => `[state] ${note}\n`).join("");
}

function joined(parts: readonly string[]): string {
  let text = "";
  for (const part of parts) {
    if (part === "") continue;
    text += text === "" || text.endsWith("\n") ? part : `\n${part}`;
  }
  return text;
}
