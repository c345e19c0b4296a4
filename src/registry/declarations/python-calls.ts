import { z } from "zod";
import type { CodeExecution, ISandbox, Output, REPLConfig } from "../../backends/backend.js";
import { unlessAborted } from "../../concurrency/abort.js";
import { Semaphore } from "../../concurrency/semaphore.js";
import { readAsset } from "../../config/environment.js";
import { CellarError, errorLine } from "../../errors.js";
import { UnconvertedValue } from "../../protocol/values.js";
import { type ToolDisplay, ToolError, type ToolOutput } from "../tool.js";
import type { PythonFiles } from "./python-files.js";

export type OpenSandbox = (config: REPLConfig) => Promise<ISandbox>;

/** Of a file that took longer to load, one sandbox is loaded in advance for the call after this one. */
const SLOW_LOAD_MS = 100;
const MAX_SPARES = 4;
const AT_ONCE = 4;
const LOAD_TIMEOUT_MS = 120_000;
const MAX_DISPLAYS = 8;
const MAX_DISPLAY_BYTES = 4 * 1024 * 1024;
const SHOWN = ["image/png", "image/jpeg", "image/svg+xml", "text/html", "text/plain"];

/** Settings of the host's environment are for its cells, and must not change what a tool does. */
const WALLS = { network: "none", policy: "off", sanitise: false } as const;

const answerSchema = z.discriminatedUnion("isPlain", [
  z.object({ isPlain: z.literal(true), value: z.unknown() }),
  z.object({
    isPlain: z.literal(false),
    code: z.enum(["TOO_LARGE", "BAD_RESULT"]),
    text: z.string(),
  }),
]);

export interface PythonCall {
  readonly tool: string;
  readonly module: string;
  readonly function: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Calls functions of Python files, each call in a sandbox that no other call has used. */
export class PythonCalls implements AsyncDisposable {
  readonly #files: PythonFiles;
  readonly #open: OpenSandbox;
  readonly #turns = new Semaphore(AT_ONCE);
  /** By module: loaded, and used by no call. Not copies of one, which would share files and processes. */
  readonly #spares = new Map<string, Promise<ISandbox | undefined>>();
  readonly #slow = new Set<string>();
  readonly #ended = new AbortController();

  constructor(files: PythonFiles, open: OpenSandbox) {
    this.#files = files;
    this.#open = open;
  }

  async run(call: PythonCall): Promise<ToolOutput> {
    const limit = AbortSignal.timeout(call.timeoutMs + LOAD_TIMEOUT_MS);
    const signal = AbortSignal.any([call.signal, this.#ended.signal, limit]);
    try {
      using _ = await this.#turns.acquire(signal);
      const sandbox = await this.#prepared(call, signal);
      try {
        return await unlessAborted(this.#called(sandbox, call, signal), signal);
      } finally {
        await sandbox.destroy();
      }
    } catch (error) {
      throw limit.aborted && !call.signal.aborted ? timedOut(call) : explained(error, call, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new ToolError("UNAVAILABLE", "the source of this tool was closed"));
    const spares = [...this.#spares.values()];
    this.#spares.clear();
    await Promise.all(spares.map(dismiss));
  }

  /** A sandbox that has run the file of the function, and nothing else. */
  async #prepared(call: PythonCall, signal: AbortSignal): Promise<ISandbox> {
    // From the second use on: many files are used once.
    const isSlow = this.#slow.has(call.module);
    const sandbox =
      (await this.#spare(call.module, signal)) ?? (await this.#loaded(call.module, call, signal));
    if (isSlow) this.#prepareSpare(call);
    return sandbox;
  }

  async #spare(module: string, signal: AbortSignal): Promise<ISandbox | undefined> {
    const spare = this.#spares.get(module);
    this.#spares.delete(module);
    try {
      const sandbox = await unlessAborted(spare ?? Promise.resolve(undefined), signal);
      // It may have died while it waited.
      await sandbox?.setVariable("_order", null);
      return sandbox;
    } catch (error) {
      if (spare !== undefined) void dismiss(spare);
      if (signal.aborted) throw error;
      return undefined;
    }
  }

  #prepareSpare(call: PythonCall): void {
    if (this.#spares.has(call.module) || this.#ended.signal.aborted) return;
    const loading = this.#loaded(call.module, call, this.#ended.signal);
    // What cannot be loaded now fails in the call that needs it.
    this.#spares.set(
      call.module,
      loading.catch(() => undefined),
    );
    const [oldest] = this.#spares;
    if (this.#spares.size <= MAX_SPARES || oldest === undefined) return;
    this.#spares.delete(oldest[0]);
    void dismiss(oldest[1]);
  }

  async #loaded(module: string, call: PythonCall, signal: AbortSignal): Promise<ISandbox> {
    const sandbox = await this.#open({ ...WALLS, checkpoints: "off", signal });
    try {
      const duration = await unlessAborted(this.#load(sandbox, call, signal), signal);
      if (duration >= SLOW_LOAD_MS) this.#slow.add(module);
      return sandbox;
    } catch (error) {
      await sandbox.destroy();
      throw error;
    }
  }

  /** How long it took, in milliseconds. */
  async #load(sandbox: ISandbox, call: PythonCall, signal: AbortSignal): Promise<number> {
    await sandbox.setVariable("_texts", Object.fromEntries(this.#files));
    const code = `${readAsset("call.py", import.meta.url)}\nload(_texts, ${JSON.stringify(call.module)})\n`;
    const run = await sandbox.execute(code, { timeout: LOAD_TIMEOUT_MS, signal });
    if (run.status !== "ok") throw failure(run, call);
    return run.duration;
  }

  async #called(sandbox: ISandbox, call: PythonCall, signal: AbortSignal): Promise<ToolOutput> {
    const { module, function: name, arguments: given, timeoutMs: timeout } = call;
    await sandbox.setVariable("_order", { module, function: name, arguments: given });
    const run = await sandbox.execute("_answer = call(_order)", { timeout, signal });
    if (run.status !== "ok") throw failure(run, call);
    const answer = answerSchema.safeParse(await sandbox.getVariable("_answer"));
    if (!answer.success || (answer.data.isPlain && isUnconverted(answer.data.value))) {
      throw new ToolError("BAD_RESULT", `${call.tool} gave a result that cannot leave its sandbox`);
    }
    if (!answer.data.isPlain) {
      const { code, text } = answer.data;
      throw new ToolError(
        code,
        `${call.tool} gave a result that cannot leave its sandbox: ${text}`,
      );
    }
    return { value: answer.data.value, displays: displaysOf(run.outputs) };
  }
}

async function dismiss(spare: Promise<ISandbox | undefined>): Promise<void> {
  await (await spare)?.destroy();
}

function failure({ status, error }: CodeExecution, call: PythonCall): ToolError {
  const { tool } = call;
  switch (status) {
    case "timeout":
      return timedOut(call);
    case "cancelled":
      return new ToolError("CANCELLED", `${tool} was cancelled`);
    case "oom":
      return new ToolError("FAILED", `${tool} ran out of memory`);
    case "crashed":
      return new ToolError("FAILED", `${tool} failed: its Python process ended`);
    default:
      return raised(tool, error?.type ?? "Error", error?.message ?? "");
  }
}

function raised(tool: string, type: string, message: string): ToolError {
  const last = type.slice(type.lastIndexOf(".") + 1);
  if (last !== "ImportError" && last !== "ModuleNotFoundError") {
    return new ToolError("FAILED", `${tool} failed: ${errorLine(type, message)}`);
  }
  const library = /^No module named '(\w+)/.exec(message)?.[1];
  if (library === undefined)
    return new ToolError("UNAVAILABLE", `${tool}: ${message}`, { isRetryable: false });
  return new ToolError(
    "UNAVAILABLE",
    `${tool} needs the Python library ${library}, which is not installed`,
    {
      isRetryable: false,
      remedy: `Add it from outside: cellar install ${library}`,
    },
  );
}

function timedOut({ tool, timeoutMs }: PythonCall): ToolError {
  return new ToolError("TIMEOUT", `${tool} took longer than its limit of ${timeoutMs / 1000} s`);
}

function explained(error: unknown, { tool }: PythonCall, signal: AbortSignal): unknown {
  if (signal.aborted && signal.reason instanceof ToolError) return signal.reason;
  if (error instanceof ToolError) return error;
  if (signal.aborted) return new ToolError("CANCELLED", `${tool} was cancelled`, { cause: error });
  if (!(error instanceof CellarError)) return error;
  const isInput = error.code === "INVALID_INPUT";
  return new ToolError(isInput ? "BAD_ARGUMENTS" : "UNAVAILABLE", `${tool}: ${error.message}`, {
    remedy: error.remedy,
    cause: error,
  });
}

function isUnconverted(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return value instanceof UnconvertedValue || Object.values(value).some(isUnconverted);
}

function displaysOf(outputs: readonly Output[]): readonly ToolDisplay[] | undefined {
  let bytes = 0;
  const displays = outputs.flatMap((output): ToolDisplay[] => {
    if (output.type !== "display") return [];
    const mime = SHOWN.find((one) => one in output.binary || one in output.data);
    if (mime === undefined) return [];
    const binary = output.binary[mime];
    const data =
      binary === undefined ? String(output.data[mime]) : Buffer.from(binary).toString("base64");
    bytes += data.length;
    return bytes <= MAX_DISPLAY_BYTES ? [{ mime, data }] : [];
  });
  return displays.length === 0 ? undefined : displays.slice(0, MAX_DISPLAYS);
}
