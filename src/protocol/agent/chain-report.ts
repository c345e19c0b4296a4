import { z } from "zod";
import { count, shortText } from "../schema-parts.js";

/** What a turn with several tool calls may do: one with effects at most, one after the other, or in waves. */
export const CHAIN_MODES = ["legacy", "seq", "dep"] as const;
export const chainModeSchema = z.enum(CHAIN_MODES);

/** As many steps as a chain may have. */
export const MAX_CHAIN_STEPS = 200;
/** Calls in a cell's code; those of loops count once. */
const MAX_CALLS = 1_000_000;

const toolName = z.string().min(1).max(200);
const milliseconds = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);

export const chainIdSchema = z.string().regex(/^[0-9a-f]{12}$/);

/** What every call tells of its place. */
export const callerSchema = z.discriminatedUnion("caller_type", [
  z.strictObject({ caller_type: z.literal("cell") }),
  z.strictObject({
    caller_type: z.literal("chain"),
    chain_id: chainIdSchema,
    chain_index: count.max(MAX_CALLS),
  }),
]);

const waveSchema = z.strictObject({
  wave_index: count.max(MAX_CHAIN_STEPS),
  /** The calls that were made, in the order of the source. */
  tools: z.array(toolName).min(1).max(MAX_CHAIN_STEPS),
  /** `mixed`: those that only read side by side, then the others one by one. */
  mode_used: z.enum(["parallel", "seq", "mixed"]),
  elapsed_ms: milliseconds,
});

/** How a turn with several tool calls was run. */
export const chainReportSchema = z.strictObject({
  chain_id: chainIdSchema,
  mode_requested: chainModeSchema,
  mode_used: z.enum([...CHAIN_MODES, "parallel_read_only"]),
  /** Whether waves were asked for, but the code was run as any other cell. */
  fallback_to_seq: z.boolean(),
  /** Why it was run as any other cell. */
  reason: shortText.nullable(),
  parallel_mutations_enabled: z.boolean(),
  /** As planned; a chain that failed has fewer in its timeline. */
  waves: count.max(MAX_CHAIN_STEPS),
  steps: count.max(MAX_CALLS),
  wave_timeline: z.array(waveSchema).max(MAX_CHAIN_STEPS),
});

const errorSchema = z.strictObject({ type: shortText, message: shortText });

/** One call of a chain, as a replay needs it. */
const logEntrySchema = z.strictObject({
  chain_index: count.max(MAX_CALLS),
  tool: toolName,
  /** In the form of "Values". */
  args: z.unknown(),
  outcome: z.union([
    z.strictObject({ value: z.unknown(), loss: shortText.optional() }),
    z.strictObject({ error: errorSchema }),
  ]),
});

export const chainLogSchema = z.array(logEntrySchema).max(1000);

/** Where a replay leaves its log; null stands for the end of either. */
export const chainDivergenceSchema = z.strictObject({
  chain_index: count.max(MAX_CALLS),
  expected: logEntrySchema.nullable(),
  got: z
    .union([
      /** `missing`: what the log has not kept of the result. */
      z.strictObject({ tool: shortText, args: z.unknown(), missing: shortText.optional() }),
      z.strictObject({ error: errorSchema }),
    ])
    .nullable(),
});

export type ChainMode = z.infer<typeof chainModeSchema>;
export type ChainReport = z.infer<typeof chainReportSchema>;
export type ChainLog = z.infer<typeof chainLogSchema>;
export type ChainDivergence = z.infer<typeof chainDivergenceSchema>;
export type Caller = z.infer<typeof callerSchema>;
