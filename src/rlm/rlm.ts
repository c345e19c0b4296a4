import { z } from "zod";
import type { AgentOptions } from "../agent/agent-options.js";
import type { REPLConfig } from "../backends/backend.js";
import { CellarError, isCellarError } from "../errors.js";
import { type Budget, readBudget, requirePrice } from "./budget.js";
import { Caller, failureOf } from "./caller.js";
import { Ledger } from "./ledger.js";
import { type Answer, type Ended, Loop } from "./loop.js";
import type { Model } from "./model.js";
import type { TokenUsage } from "./tally.js";
import { Trace } from "./trace.js";
import { type RunEnding, TRACE_VERSION, type TraceEvent } from "./trace-events.js";

const DEFAULT_TURNS = 30;
const DEFAULT_DEPTH = 1;

export interface RLMOptions<T = unknown> {
  readonly query: string;
  /** A text, a value, or `{ file }`: what the question is about. The model never sees it as a whole. */
  readonly context?: unknown;
  readonly model: Model;
  /** Answers `llm_query` and runs the loops below. Default: the same model. */
  readonly subModel?: Model | undefined;
  /** Others that `llm_query(prompt, model="name")` may ask. */
  readonly models?: Readonly<Record<string, Model>> | undefined;
  readonly budget?: Budget | undefined;
  /** What the answer must be; the model is told what is wrong with one that is not. */
  readonly output?: z.ZodType<T> | undefined;
  /** Settings of the sandboxes. */
  readonly config?: REPLConfig | undefined;
  /** Settings of the agents' REPLs. */
  readonly agent?: AgentOptions | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: ((event: TraceEvent) => void) | undefined;
  /** A file to which the trace is appended. */
  readonly trace?: string | undefined;
}

export interface RLMResult<T = unknown> {
  readonly how: RunEnding;
  /** Null where there is none. */
  readonly answer: string | null;
  /** The answer as data, in the form of the schema when one was given. */
  readonly output: T | undefined;
  readonly turns: number;
  readonly usage: TokenUsage;
  readonly usageByDepth: ReadonlyMap<number, TokenUsage>;
  readonly trace: readonly TraceEvent[];
  /** Why it failed, was cancelled, or which budget ended it. */
  readonly error: CellarError | undefined;
}

/** A model answers a question by exploring its context in Python. */
export async function rlm<T = unknown>(options: RLMOptions<T>): Promise<RLMResult<T>> {
  const { query, context, model, subModel = model, signal, output } = checked(options);
  const given = readBudget(options.budget);
  const { turns = DEFAULT_TURNS, depth = DEFAULT_DEPTH } = given;
  const budget = { ...given, turns, depth };
  for (const each of [model, subModel, ...Object.values(options.models ?? {})])
    requirePrice(budget, each);
  const ledger = new Ledger(budget);
  await using trace = await Trace.open({ file: options.trace, onEvent: options.onEvent });
  const { root } = trace;
  root.emit({
    type: "run.started",
    version: TRACE_VERSION,
    query,
    model: model.name,
    subModel: subModel.name,
  });
  const tree = {
    caller: await Caller.open(ledger),
    model,
    subModel,
    models: options.models ?? {},
    turns,
    config: options.config ?? {},
    agent: options.agent ?? {},
    signal,
  };
  const loop = new Loop(tree, 0, root);
  let ended: Ended | { how: "cancelled" | "failed"; error: CellarError; turns: number };
  let parsed: T | undefined;
  try {
    signal?.throwIfAborted();
    ended = await loop.run(query, context, (answer) => {
      if (output === undefined) return undefined;
      const judged = output.safeParse(dataOf(answer));
      if (judged.success) parsed = judged.data;
      return judged.success ? undefined : objection(judged.error);
    });
  } catch (error) {
    const isCancelled = signal?.aborted === true;
    const how = isCancelled ? "cancelled" : "failed";
    ended = { how, error: asCellarError(error), turns: loop.turns };
  }
  const answer = "answer" in ended ? (ended.answer ?? null) : null;
  const { usage } = ledger;
  const { calls, inputTokens, outputTokens, cost } = usage;
  root.emit({
    type: "run.ended",
    how: ended.how,
    answer: answer?.text ?? null,
    ...(ended.error !== undefined && { error: failureOf(ended.error) }),
    usage: {
      calls,
      inputTokens,
      outputTokens,
      isEstimate: false,
      cost: usage.unpriced > 0 ? null : cost,
    },
  });
  return {
    how: ended.how,
    answer: answer?.text ?? null,
    output: output === undefined ? (answer?.value as T | undefined) : parsed,
    turns: ended.turns,
    usage,
    usageByDepth: ledger.usageByDepth,
    trace: trace.events,
    error: ended.error,
  };
}

function checked<T>(options: RLMOptions<T>): RLMOptions<T> {
  const { query, model } = options ?? {};
  if (typeof query === "string" && query.trim() !== "" && typeof model?.complete === "function") {
    return options;
  }
  throw new CellarError("INVALID_INPUT", "rlm() wants a question and a model", {
    remedy: "Give { query, model }, the model such as openAIChat({ model: name }).",
  });
}

/** A text may be JSON that was meant as data. */
function dataOf({ value }: Answer): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function objection(error: z.ZodError): string {
  return `The answer has another form than wanted: ${z.prettifyError(error)}\nGive it again in that form.`;
}

function asCellarError(error: unknown): CellarError {
  if (isCellarError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CellarError("REMOTE_ERROR", message, { cause: error });
}
