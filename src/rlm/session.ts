import { z } from "zod";
import { planAgent, withPolicy } from "../agent/options.js";
import { describeTools } from "../backends/host-tools/prepared-tools.js";
import { TaskQueue } from "../concurrency/task-queue.js";
import { checkNames, checkSignal, requireOptions } from "../config/kinds.js";
import { CellarError, isCellarError } from "../errors.js";
import { type Budget, readBudget, requirePrice } from "./budget/budget.js";
import { Deadline, Stopwatch } from "./budget/deadline.js";
import { Ledger } from "./budget/ledger.js";
import { failureOf, ModelCaller } from "./budget/model-caller.js";
import { type TokenUsage, usageByDepthSince, usageSince } from "./budget/usage.js";
import { type Answer, type Ended, Loop, type Tree } from "./loop.js";
import {
  type AskOptions,
  checkSessionOptions,
  type RLMSessionOptions,
  shareOf,
} from "./options.js";
import { Recording } from "./replay/recording.js";
import { telemetryListener } from "./telemetry/telemetry.js";
import { type RunStatus, TRACE_VERSION, type TraceEvent } from "./trace/events.js";
import { type Span, Trace } from "./trace/trace.js";

const DEFAULT_TURNS = 30;
const DEFAULT_DEPTH = 1;
/** A longer schema is not sent to the model, but answers are still checked. */
const LONGEST_FORM = 20_000;

export interface RLMResult<T = unknown> {
  readonly status: RunStatus;
  readonly answer: string | null;
  /** The answer as data; with `output`, as its schema returns it. */
  readonly output: T | undefined;
  readonly turns: number;
  readonly usage: TokenUsage;
  readonly usageByDepth: ReadonlyMap<number, TokenUsage>;
  readonly trace: readonly TraceEvent[];
  /** Why it failed, was cancelled, or which budget ended it. */
  readonly error: CellarError | undefined;
}

type Ending =
  | Ended
  | {
      readonly status: "cancelled" | "failed";
      readonly answer?: undefined;
      readonly error: CellarError;
      readonly turns: number;
    };

/** Several questions about one context, which share variables, conversation and budget. */
export class RLMSession implements AsyncDisposable {
  readonly #options: RLMSessionOptions;
  readonly #recording: Recording;
  readonly #tree: Tree;
  readonly #watch: Stopwatch;
  readonly #queue = new TaskQueue();
  #loop: Loop | undefined;
  #ending: Promise<void> | undefined;

  private constructor(
    options: RLMSessionOptions,
    parts: { recording: Recording; tree: Tree; watch: Stopwatch },
  ) {
    this.#options = options;
    this.#recording = parts.recording;
    this.#tree = parts.tree;
    this.#watch = parts.watch;
  }

  /** The first question opens the sandbox. */
  static async open(options: RLMSessionOptions): Promise<RLMSession> {
    checkSessionOptions(options);
    const given = readBudget({ depth: options.depth, ...present(options.budget) });
    const { turns = DEFAULT_TURNS, depth = DEFAULT_DEPTH } = given;
    const budget = { ...given, turns, depth };
    const compactAt = shareOf(options.compactAt);
    const recording = await Recording.open(options);
    const { modelSet } = recording;
    try {
      for (const each of [modelSet.model, modelSet.subModel, ...Object.values(modelSet.models)])
        requirePrice(budget, each);
      const watch = new Stopwatch();
      const caller = await ModelCaller.open(new Ledger(budget, watch.now));
      const { tools: own, ...agent } = options.agent ?? {};
      const tools = options.tools ?? own ?? options.config?.tools;
      // The sandbox isolates the code anyway, and each policy violation would cost a turn.
      const config = { ...withPolicy("off", options.config ?? {}), tools };
      // Wrong options are told now, not with the first question.
      planAgent(agent, config, options.context !== undefined);
      const described = describeTools(tools);
      const tree = { caller, ...modelSet, turns, compactAt, tools: described, config, agent };
      return new RLMSession(options, { recording, tree, watch });
    } catch (error) {
      await recording[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Of all questions together. */
  get usage(): TokenUsage {
    return this.#tree.caller.ledger.usage;
  }

  /** Questions are answered one after the other, in the order in which they were asked. */
  async ask<T = unknown>(query: string, options: AskOptions<T> = {}): Promise<RLMResult<T>> {
    const given = requireOptions("the options of a question", options, "{ output, signal }");
    checkNames("ask", given, { output: true, signal: true });
    checkSignal(options.signal);
    if (typeof query !== "string" || query.trim() === "") {
      const remedy = "Ask something, as text.";
      throw new CellarError("INVALID_INPUT", "the question is empty", { remedy });
    }
    if (options.output !== undefined && typeof options.output?.safeParse !== "function") {
      const remedy = "Give one such as z.object({ host: z.string() }).";
      throw new CellarError("INVALID_INPUT", "output is not a zod schema", { remedy });
    }
    return await this.#queue.run(async () => {
      if (this.#ending === undefined) return await this.#answer(query, options);
      const remedy = "Open another one with rlm.session().";
      throw new CellarError("SESSION_CLOSED", "the rlm session was closed", { remedy });
    });
  }

  async #answer<T>(query: string, { output, signal }: AskOptions<T>): Promise<RLMResult<T>> {
    const { trace: file, onEvent } = this.#options;
    const { caller } = this.#tree;
    const { ledger } = caller;
    const before = ledger.used;
    await using trace = await Trace.open({ file, onEvent, secrets: this.#secrets() });
    const telemetry = await telemetryListener();
    if (telemetry !== undefined) trace.listen(telemetry);
    const { root } = trace;
    let parsed: T | undefined;
    const judge = (answer: Answer) => {
      if (output === undefined) return undefined;
      const asData = output.safeParse(dataOf(answer));
      // A text that is also JSON, such as a year, may be wanted as text.
      const judged = asData.success ? asData : output.safeParse(answer.value);
      if (judged.success) parsed = judged.data;
      return judged.success ? undefined : objection(asData.error ?? judged.error);
    };
    const form = output === undefined ? undefined : formOf(output);
    const ended = await this.#run({ query, form, judge, root, signal });
    const answer = ended.answer ?? null;
    const usage = usageSince(before, ledger.used);
    root.emit({
      type: "run.ended",
      status: ended.status,
      answer: answer?.text ?? null,
      ...(ended.error !== undefined && { error: failureOf(ended.error) }),
      usage: {
        calls: usage.calls,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        isEstimate: false,
        cost: usage.unpriced > 0 ? null : usage.cost,
      },
    });
    const result: RLMResult<T> = {
      status: ended.status,
      answer: answer?.text ?? null,
      output: output === undefined ? (answer?.value as T | undefined) : parsed,
      turns: ended.turns,
      usage,
      usageByDepth: usageByDepthSince(before, ledger.used),
      trace: trace.events,
      error: ended.error,
    };
    return await afterwards(result, () => trace.close());
  }

  async #run(order: {
    query: string;
    form: string | undefined;
    judge: (answer: Answer) => string | undefined;
    root: Span;
    signal: AbortSignal | undefined;
  }): Promise<Ending> {
    using _ = this.#watch.run();
    using deadline = new Deadline(this.#tree.caller.ledger, order.signal);
    const { query, form, judge, root: span } = order;
    const { about } = this.#options;
    const { signal } = deadline;
    let turns = 0;
    try {
      const loop = await this.#open(query, span, signal);
      try {
        const ended = await loop.ask({ query, about, form, judge, span, signal });
        if (this.#recording.divergence !== undefined) throw this.#recording.divergence;
        return ended;
      } finally {
        turns = loop.turns;
      }
    } catch (error) {
      if (order.signal?.aborted === true)
        return { status: "cancelled", error: cancelled(error), turns };
      const { exceeded } = deadline;
      if (exceeded === undefined) return { status: "failed", error: asCellarError(error), turns };
      return { status: "out-of-budget", answer: undefined, error: exceeded, turns };
    }
  }

  async #open(query: string, span: Span, signal: AbortSignal): Promise<Loop> {
    const { model, subModel } = this.#tree;
    const started = {
      type: "run.started",
      version: TRACE_VERSION,
      query,
      model: model.name,
      subModel: subModel.name,
    } as const;
    try {
      signal.throwIfAborted();
      this.#loop ??= await Loop.open(this.#tree, 0, this.#options.context);
    } catch (error) {
      span.emit(started);
      throw error;
    }
    const { backend, isolation, python } = this.#loop.info;
    const sandbox = { backend, isolation: isolation.level, python: python.version };
    const { context } = this.#options;
    const facts = { context: { type: "text", characters: String(context).length } };
    span.emit({ ...started, sandbox, ...(typeof context === "string" && facts) });
    return this.#loop;
  }

  #secrets(): readonly string[] {
    const { model, subModel, models } = this.#tree;
    return [model, subModel, ...Object.values(models)].flatMap((one) => one.secrets?.() ?? []);
  }

  /** Fails if a replay diverged or ended early, or if a recording is incomplete. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    await this.#queue.run(async () => {
      await this.#loop?.[Symbol.asyncDispose]();
    });
    await this.#recording.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A result is not lost because its trace or recording could not be written. */
export async function afterwards<T>(
  result: RLMResult<T>,
  close: () => Promise<void>,
): Promise<RLMResult<T>> {
  try {
    await close();
    return result;
  } catch (error) {
    if (!isCellarError(error)) throw error;
    // The first error matters more.
    return result.error === undefined ? { ...result, status: "failed", error } : result;
  }
}

/** Undefined means the default. */
function present(budget: Budget | undefined): Budget {
  const entries = Object.entries(budget ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

function dataOf({ value }: Answer): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The JSON Schema for the model; undefined if it is too long or cannot be expressed. */
function formOf(output: z.ZodType): string | undefined {
  try {
    const { $schema: _, ...schema } = z.toJSONSchema(output, {
      io: "input",
      unrepresentable: "any",
    });
    const text = JSON.stringify(schema);
    return text.length <= LONGEST_FORM ? text : undefined;
  } catch {
    return undefined;
  }
}

function objection(error: z.ZodError): string {
  return `The answer has another form than wanted: ${z.prettifyError(error)}\nGive it again in that form.`;
}

function cancelled(error: unknown): CellarError {
  if (isCellarError(error, "ABORTED")) return error;
  return new CellarError("ABORTED", "the run was cancelled", { cause: error });
}

function asCellarError(error: unknown): CellarError {
  if (isCellarError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CellarError("REMOTE_ERROR", message, { cause: error });
}
