import { z } from "zod";
import {
  agentMessages,
  agentOrderSchema,
  agentReportSchema,
  conductSchema,
  replacedSchema,
} from "./agent/messages.js";
import { daemonMessages } from "./daemon-messages.js";
import { displayMessages } from "./display-messages.js";
import { daemonFileMessages, fileMessages } from "./file-messages.js";
import {
  argvSchema,
  checkpointMode,
  checkpointPlan,
  completenessSchema,
  completionSchema,
  count,
  cursorSchema,
  executionErrorSchema,
  json,
  limitsSchema,
  mimeBundleSchema,
  nothing,
  notification,
  omittedBytes,
  request,
  shortText,
  stream,
  text,
  variableSchema,
} from "./schema-parts.js";
import { stateMessages } from "./state-messages.js";
import { toolsSchema } from "./tool-messages.js";

export { MAX_FRAME_BYTES, MAX_SOURCE_BYTES, PROTOCOL_VERSION } from "./bounds.js";

const hello = z.strictObject({
  protocol: count,
  role: z.enum(["init", "head", "plain", "template", "writer"]),
  session: shortText,
  token: shortText,
  branch: count,
  generation: count,
  python: shortText,
  abilities: z.array(shortText).max(64),
});

const deathCause = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("exit"), code: z.int() }),
  z.strictObject({ kind: z.literal("signal"), signal: z.int() }),
  z.strictObject({ kind: z.literal("oom") }),
  z.strictObject({ kind: z.literal("killed") }),
]);

const contextFormat = z.enum(["utf-8", "utf-16-le", "json"]);

const branch = z.strictObject({ branch: count });

/** The one source of the contract; schema.json and the runner's tables are generated from it. */
export const messages = {
  boot: notification(
    "zygote",
    "host",
    z.strictObject({
      preload: z.array(shortText).max(256),
      seccomp: text,
      /** A socket through which the host's porters hand in files, each under the name of its use. */
      file_socket_fd: count,
      /** Whether sessions have the host's network instead of an empty one. */
      shares_network: z.boolean().optional(),
      group: z
        .discriminatedUnion("version", [
          z.strictObject({
            version: z.literal(1),
            memory_fd: count,
            pids_fd: count,
            cpu_fd: count.optional(),
          }),
          z.strictObject({ version: z.literal(2), unified_fd: count }),
        ])
        .nullable(),
    }),
  ),
  spawn: request(
    "zygote",
    "host",
    z.strictObject({
      session: shortText,
      token: shortText,
      limits: limitsSchema,
      keep_checkpoints: count,
      warm_up: z.boolean(),
      /** A session folder of the host: its `workspace` becomes /workspace. */
      session_dir: z.strictObject({ name: shortText, egress: z.boolean() }).optional(),
    }),
    nothing,
  ),
  /** Ends every process of a session from outside, whatever its first process does. */
  end_session: notification("zygote", "host", z.strictObject({ session: shortText })),
  /** A child that holds a context, whose file was sent under its name. */
  template: request(
    "zygote",
    "host",
    z.strictObject({ template: shortText, token: shortText }),
    nothing,
  ),
  read_context: request(
    "template",
    "host",
    z.strictObject({ format: contextFormat, bytes: count }),
    z.strictObject({ memory: count }),
  ),
  ready: notification(
    "zygote",
    "inside",
    z.strictObject({
      protocol: count,
      python: shortText,
      threads: count,
      preloaded: z.array(z.strictObject({ name: shortText, version: shortText })).max(256),
      absent: z.array(z.strictObject({ name: shortText, reason: shortText })).max(256),
      seconds: z.number().nonnegative(),
    }),
  ),
  exited: notification(
    "zygote",
    "inside",
    z.strictObject({ session: shortText, reason: shortText }),
  ),

  plain_boot: notification(
    "plain",
    "host",
    z.strictObject({ session: shortText, token: shortText, limits: limitsSchema }),
  ),

  hello: notification("head", "inside", hello),

  initialize: request(
    "head",
    "host",
    z.strictObject({
      step: count,
      variables: z.record(shortText, json),
      checkpoint: checkpointMode,
      rest_ms: count.optional(),
    }),
    z.strictObject({ checkpoint: checkpointPlan }),
  ),
  context_part: request(
    "head",
    "host",
    z.strictObject({
      format: contextFormat,
      total: count,
      offset: count,
      attachments: z.array(z.strictObject({ bytes: count })).length(1),
    }),
    nothing,
  ),
  /** Makes what came in parts the value of a variable: of `context`, unless another is named. */
  load_context: request(
    "head",
    "host",
    z.strictObject({
      step: count,
      name: shortText.min(1).optional(),
      total: count,
      checkpoint: checkpointMode,
      rest_ms: count.optional(),
    }),
    z.strictObject({ checkpoint: checkpointPlan }),
  ),
  configure: request(
    "head",
    "host",
    z.strictObject({
      environment: z.record(shortText, text),
      conduct: conductSchema.optional(),
      agent: agentOrderSchema.optional(),
      tools: toolsSchema.optional(),
    }),
    nothing,
  ),
  execute: request(
    "head",
    "host",
    z.strictObject({
      step: count,
      number: count,
      code: text,
      max_output: count,
      checkpoint: checkpointMode,
      rest_ms: count.optional(),
      argv: argvSchema.optional(),
      /** It comes from the same response of a model as the cell before. */
      continues: z.boolean().optional(),
    }),
    z.strictObject({
      status: z.enum(["ok", "error", "interrupted"]),
      error: executionErrorSchema.nullable(),
      result: mimeBundleSchema.nullable(),
      exit_code: z.int().nullable(),
      duration_ms: z.number().nonnegative(),
      /** Position of the value or error, if output came after it. */
      end_seq: count.optional(),
      checkpoint: checkpointPlan,
      replaced: replacedSchema.optional(),
      agent: agentReportSchema.optional(),
      output: z
        .strictObject({
          pieces: z
            .array(z.strictObject({ step: count.nullable(), stream, text, seq: count }))
            .max(10_000),
          omitted: omittedBytes,
        })
        .optional(),
    }),
  ),
  get_variable: request(
    "head",
    "host",
    z.strictObject({ name: shortText }),
    z.discriminatedUnion("found", [
      z.strictObject({ found: z.literal(true), value: json }),
      z.strictObject({ found: z.literal(false) }),
    ]),
  ),
  variables: request(
    "head",
    "host",
    nothing,
    z.strictObject({ variables: z.array(variableSchema) }),
  ),
  /** What could stand at the cursor, counted in code points. */
  complete: request("head", "host", cursorSchema, completionSchema),
  /** Whether a text can be run as a cell, or needs more lines. */
  is_complete: request("head", "host", z.strictObject({ code: text }), completenessSchema),
  /** Shows that the head is there and listens. */
  ping: request("head", "host", nothing, nothing),
  ...displayMessages,

  /** A built-in that the host answers. `input` is JSON text, validated separately from the envelope. */
  host_call: request(
    "head",
    "inside",
    z.strictObject({ step: count, name: shortText.min(1), input: text }),
    z.strictObject({ output: json }),
  ),

  interrupt: notification("init", "host", z.strictObject({ branch: count, step: count })),
  kill: notification("init", "host", z.strictObject({ branch: count, generation: count })),
  rollback: request(
    "init",
    "host",
    z.strictObject({ branch: count, checkpoint: count }),
    z.discriminatedUnion("done", [
      z.strictObject({ done: z.literal(true), generation: count }),
      z.strictObject({
        done: z.literal(false),
        reason: shortText,
        /** Where another state than the wanted one came back: which, and under which head. */
        instead: z.strictObject({ restored: count, generation: count }).optional(),
      }),
    ]),
  ),
  fork: request(
    "init",
    "host",
    z.strictObject({ branch: count, checkpoint: count, new_branch: count }),
    z.discriminatedUnion("done", [
      z.strictObject({ done: z.literal(true), generation: count }),
      z.strictObject({ done: z.literal(false), reason: shortText }),
    ]),
  ),
  drop: request("init", "host", branch, nothing),
  checkpoints: request(
    "init",
    "host",
    branch,
    z.strictObject({ checkpoints: z.array(z.strictObject({ step: count, pid: count })).max(4096) }),
  ),
  output: notification(
    "init",
    "inside",
    z.strictObject({
      branch: count,
      generation: count,
      step: count.nullable(),
      stream,
      text,
      seq: count,
    }),
  ),
  settled: notification(
    "init",
    "inside",
    z.strictObject({
      branch: count,
      generation: count,
      step: count,
      seq: count,
      omitted: omittedBytes,
      processes: count,
    }),
  ),
  parked: notification(
    "init",
    "inside",
    z.strictObject({ branch: count, step: count, lost: z.array(shortText).max(64) }),
  ),
  died: notification(
    "init",
    "inside",
    z.strictObject({
      branch: count,
      generation: count,
      step: count.nullable(),
      cause: deathCause,
      restored: count,
      next_generation: count,
    }),
  ),

  ...agentMessages,
  ...stateMessages,
  ...fileMessages,
  ...daemonMessages,
  ...daemonFileMessages,
} as const;

export type Messages = typeof messages;
export type Method = keyof Messages;
export type Params<M extends Method> = z.infer<Messages[M]["params"]>;
export type RequestMethod = {
  [M in Method]: Messages[M] extends { kind: "request" } ? M : never;
}[Method];
export type NotificationMethod = Exclude<Method, RequestMethod>;
export type Result<M extends RequestMethod> = Messages[M] extends {
  result: infer R extends z.ZodType;
}
  ? z.infer<R>
  : never;

export type Limits = z.infer<typeof limitsSchema>;
export type ContextFormat = z.infer<typeof contextFormat>;
export type CheckpointMode = z.infer<typeof checkpointMode>;
export type MimeBundle = z.infer<typeof mimeBundleSchema>;
export type Variable = z.infer<typeof variableSchema>;
export type {
  AgentCall,
  AgentReport,
  FinalAnswer,
  Finding,
  Policy,
  Replaced,
} from "./agent/messages.js";
export type { RestoreReport, StateManifest, WrittenState } from "./state-messages.js";
export type { ToolSpec } from "./tool-messages.js";
export type DeathCause = z.infer<typeof deathCause>;

const calledEnvelope = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: count.optional(),
  method: shortText,
  params: z.record(z.string(), json),
});
const answerEnvelope = z.strictObject({ jsonrpc: z.literal("2.0"), id: count, result: json });
const errorEnvelope = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: count.nullable(),
  error: z.strictObject({ code: z.int(), message: text, data: json.optional() }),
});

/** The JSON-RPC 2.0 envelope around every message, in the order a reader tries them. */
export const envelopeSchema = z.union([calledEnvelope, answerEnvelope, errorEnvelope]);

export type Envelope = z.infer<typeof envelopeSchema>;

/** As `envelopeSchema`, without trying what a look at the members rules out. */
export function parseEnvelope(value: unknown): Envelope | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (isAnswer(value)) return value;
  return ("method" in value ? calledEnvelope : errorEnvelope).safeParse(value).data;
}

/** By hand, for it is asked once for every cell. */
function isAnswer(value: object): value is z.infer<typeof answerEnvelope> {
  const { jsonrpc, id } = value as { jsonrpc?: unknown; id?: unknown };
  return (
    "result" in value &&
    jsonrpc === "2.0" &&
    Number.isSafeInteger(id) &&
    (id as number) >= 0 &&
    Object.keys(value).length === 3
  );
}
