import { z } from "zod";
import {
  change,
  changed,
  count,
  hostToHead,
  json,
  nothing,
  shortText,
  text,
} from "../schema-parts.js";
import {
  chainDivergenceSchema,
  chainLogSchema,
  chainModeSchema,
  chainReportSchema,
} from "./chain-report.js";

export const policySchema = z.enum(["off", "ast", "restricted"]);

export const codeRulesSchema = z.strictObject({ policy: policySchema, sanitise: z.boolean() });

/** The functions of an agent, and what bounds them. */
export const agentOrderSchema = z.strictObject({
  max_grep_results: z.int().positive(),
  require_exploration_before_final: z.boolean(),
  min_exploration_calls: count,
  /** Who the agent is, as `my_role()` tells it. */
  role: shortText.optional(),
  /** Set where turns that consist of tool calls are planned. */
  chain: z
    .strictObject({
      mode: chainModeSchema,
      parallel_tools: z.boolean(),
      parallel_mutations: z.boolean(),
    })
    .optional(),
});

/** Characters that were replaced before the cell ran: how many, and the first of them. */
export const replacedSchema = z.strictObject({
  total: count,
  characters: z
    .array(
      z.strictObject({
        character: z.string().max(8),
        name: shortText,
        line: count,
        column: count,
        with: z.string().max(64),
      }),
    )
    .max(64),
});

/** One call of a built-in of the agent. */
export const agentCallSchema = z.strictObject({
  id: z.string().min(1).max(32),
  name: shortText.min(1),
  arguments: z.record(shortText, json),
  size: count,
  preview: shortText,
  parents: z.array(z.string().min(1).max(32)).max(64),
  seconds: z.number().nonnegative(),
  error: shortText.nullable(),
});

export const findingSchema = z.strictObject({
  number: count,
  text: shortText,
  source: shortText.nullable(),
});

/** What `FINAL()` was given. */
export const finalAnswerSchema = z.strictObject({
  via: shortText,
  name: shortText.nullable(),
  type: shortText,
  /** In the form of "Values". */
  value: json,
  /** How Python shows it, unless it is text. */
  text: z.string().max(100_000).nullable(),
  /** What of it did not fit. */
  loss: shortText.nullable(),
});

/** What an agent did in one cell. */
export const agentReportSchema = z.strictObject({
  /** How a turn with several tool calls was run; null for any other. */
  chain: chainReportSchema.nullable().optional(),
  chain_log: chainLogSchema.optional(),
  calls: z.array(agentCallSchema).max(200),
  omitted: count,
  explored: count,
  final: finalAnswerSchema.nullable(),
  /** Whether the cell answers only with constants that it, or a cell it continues, wrote down. */
  literal_answer: z.boolean(),
  findings: z.array(findingSchema).max(500),
  refused: z.array(z.strictObject({ name: shortText, reason: shortText })).max(20),
  /** Names of the session that the cell took, and under which other names its values are kept. */
  put_back: z
    .array(z.strictObject({ name: shortText.min(1), kept: shortText.min(1).nullable() }))
    .max(64),
});

/** Outputs that were too long to show, which a session without a mount keeps as files. */
export const spilledSchema = z.strictObject({
  files: z.array(z.strictObject({ name: shortText.min(1), text })).max(64),
});
export const spilledFolderSchema = z.strictObject({ folder: shortText });

/** The code of a structured turn, and the log of one like it. */
export const replaySchema = z.strictObject({ code: text, log: chainLogSchema });
export const replayedSchema = z.strictObject({ divergence: chainDivergenceSchema.nullable() });

export const agentMessages = {
  /** What the functions of an agent remember, in the form of "Values". */
  get_agent_state: hostToHead.request(nothing, { state: json }),
  set_agent_state: hostToHead.request({ ...change, state: json }, changed),
  /** Compares a turn with the log of a chain, without calling a tool. */
  replay_chain: hostToHead.request(replaySchema, replayedSchema),
  /** Writes the files, of which there may be none, and tells their folder. */
  put_spilled: hostToHead.request(spilledSchema, spilledFolderSchema),
} as const;

export type Policy = z.infer<typeof policySchema>;
export type AgentCall = z.infer<typeof agentCallSchema>;
export type AgentReport = z.infer<typeof agentReportSchema>;
export type FinalAnswer = z.infer<typeof finalAnswerSchema>;
export type Finding = z.infer<typeof findingSchema>;
export type Replaced = z.infer<typeof replacedSchema>;
