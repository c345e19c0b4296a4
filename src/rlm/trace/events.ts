import { z } from "zod";
import { chainReportSchema } from "../../protocol/agent/chain-report.js";
import { CALLER_TYPES } from "../../registry/tool.js";

/** Part of the first event of a run. */
export const TRACE_VERSION = 1;

export const RUN_STATUSES = [
  "answered",
  "out-of-turns",
  "out-of-budget",
  "cancelled",
  "failed",
] as const;

export type RunStatus = (typeof RUN_STATUSES)[number];

const count = z.int().nonnegative();
const amount = z.number().nonnegative();
const name = z.string().max(1_000);
const id = z.string().min(1).max(64);

/** Null if the price is not known. */
const cost = amount.nullable();

const tokens = { inputTokens: count, outputTokens: count, isEstimate: z.boolean() };

const envelope = {
  run: id,
  span: id,
  parent: id.nullable(),
  depth: count,
  /** Milliseconds since the run began. */
  at: amount,
};

const failure = z.object({ code: name, message: z.string() });
const kind = z.enum(["llm", "rlm"]);

const left = z
  .object({
    dollars: z.number(),
    tokens: z.number(),
    calls: z.number(),
    seconds: z.number(),
    turns: z.number(),
    depth: z.number(),
  })
  .partial();

function event<T extends string, S extends z.core.$ZodLooseShape>(type: T, shape: S) {
  return z.object({ ...envelope, type: z.literal(type), ...shape });
}

/** Fields that are not listed here are dropped; none of them holds keys or headers. */
export const traceEventSchema = z.discriminatedUnion("type", [
  event("run.started", {
    version: z.literal(TRACE_VERSION),
    query: z.string(),
    model: name,
    subModel: name.optional(),
    context: z.object({ type: name, characters: count }).optional(),
    sandbox: z.object({ backend: name, isolation: name, python: name }).partial().optional(),
  }),
  event("turn.started", { turn: count, turns: count.optional() }),
  event("model.request", {
    call: id,
    model: name,
    promptTokens: count,
    maxTokens: count.optional(),
    prompt: z.string().optional(),
  }),
  event("model.reply", {
    call: id,
    text: z.string(),
    finish: z.enum(["stop", "length", "other"]),
    usage: z.object(tokens),
    cost,
    ms: amount,
  }),
  event("model.failed", { call: id, error: failure, ms: amount }),
  event("code.started", { code: z.string() }),
  event("code.output", {
    observation: z.string(),
    status: z.enum(["ok", "error", "timeout", "cancelled", "oom", "crashed"]),
    /** How a structured turn with several tool calls was run. */
    chain: chainReportSchema.optional(),
    /** Calls of tools that have no event, because there were too many. */
    omittedCalls: count.optional(),
    ms: amount,
  }),
  event("tool.called", {
    tool: name,
    /** JSON, cut. */
    arguments: z.string(),
    callerType: z.enum(CALLER_TYPES),
    chainId: id.optional(),
    chainIndex: count.optional(),
    /** `ok`, or the code of its error. */
    outcome: name,
    error: failure.optional(),
    ms: amount,
  }),
  event("sub.started", { kind, prompt: z.string() }),
  event("sub.ended", {
    kind,
    text: z.string().optional(),
    error: failure.optional(),
    ms: amount,
  }),
  event("budget", { left }),
  event("compaction", { messages: count, tokensBefore: count, tokensAfter: count }),
  event("run.ended", {
    status: z.enum(RUN_STATUSES),
    answer: z.string().nullable(),
    error: failure.optional(),
    usage: z.object({ calls: count, ...tokens, cost }),
  }),
]);

/** Accepts `how`, the name that earlier versions wrote for `status`. */
export const savedEventSchema = z.preprocess(
  (value) =>
    typeof value === "object" && value !== null && "how" in value
      ? { status: value.how, ...value }
      : value,
  traceEventSchema,
);

export type TraceEvent = Readonly<z.infer<typeof traceEventSchema>>;
export type TraceEventType = TraceEvent["type"];

type Bare<E> = E extends TraceEvent ? Omit<E, keyof typeof envelope> : never;

/** An event without the fields that its span adds. */
export type TraceBody = Bare<TraceEvent>;
