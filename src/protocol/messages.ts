import { z } from "zod";
import {
  agentMessages,
  agentOrderSchema,
  agentReportSchema,
  codeRulesSchema,
  replacedSchema,
} from "./agent/messages.js";
import { daemonMessages } from "./daemon-messages.js";
import { displayMessages } from "./display-messages.js";
import { daemonFileMessages, fileMessages } from "./file-messages.js";
import {
  argvSchema,
  change,
  changed,
  type checkpointMode,
  completenessSchema,
  completionSchema,
  count,
  cursorSchema,
  executionErrorSchema,
  headToHost,
  hostToHead,
  hostToInit,
  hostToPlain,
  hostToTemplate,
  hostToZygote,
  initToHost,
  json,
  limitsSchema,
  mimeBundleSchema,
  nothing,
  omittedBytes,
  oneAttachment,
  orMissing,
  orReason,
  shortText,
  stream,
  text,
  variableSchema,
  zygoteToHost,
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

/** The one source of the contract; schema.json and the runner's tables are generated from it. */
export const messages = {
  boot: hostToZygote.notification({
    preload: z.array(shortText).max(256),
    seccomp: text,
    /** The filter of each session's init, where it makes checkpoints by the pages that were written. */
    init_seccomp: text.optional(),
    /** A socket through which the host passes files, each under the name of its use. */
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
  spawn: hostToZygote.request({
    session: shortText,
    token: shortText,
    limits: limitsSchema,
    keep_checkpoints: count,
    warm_up: z.boolean(),
    /** A session folder of the host: its `workspace` becomes /workspace. */
    session_dir: z.strictObject({ name: shortText, egress: z.boolean() }).optional(),
  }),
  /** Ends every process of a session from outside, whatever its first process does. */
  end_session: hostToZygote.notification({ session: shortText }),
  /** A child that holds a context, whose file was sent under its name. */
  template: hostToZygote.request({ template: shortText, token: shortText }),
  read_context: hostToTemplate.request({ format: contextFormat, bytes: count }, { memory: count }),
  ready: zygoteToHost.notification({
    protocol: count,
    python: shortText,
    threads: count,
    preloaded: z.array(z.strictObject({ name: shortText, version: shortText })).max(256),
    absent: z.array(z.strictObject({ name: shortText, reason: shortText })).max(256),
    seconds: z.number().nonnegative(),
  }),
  exited: zygoteToHost.notification({ session: shortText, reason: shortText }),

  plain_boot: hostToPlain.notification({
    session: shortText,
    token: shortText,
    limits: limitsSchema,
  }),

  hello: headToHost.notification(hello),

  initialize: hostToHead.request({ ...change, variables: z.record(shortText, json) }, changed),
  context_part: hostToHead.request({
    format: contextFormat,
    total: count,
    offset: count,
    attachments: oneAttachment,
  }),
  /** Makes what came in parts the value of a variable: of `context`, unless another is named. */
  load_context: hostToHead.request(
    { ...change, name: shortText.min(1).optional(), total: count },
    changed,
  ),
  configure: hostToHead.request({
    environment: z.record(shortText, text),
    code_rules: codeRulesSchema.optional(),
    agent: agentOrderSchema.optional(),
    tools: toolsSchema.optional(),
  }),
  execute: hostToHead.request(
    {
      ...change,
      number: count,
      code: text,
      max_output: count,
      argv: argvSchema.optional(),
      /** It comes from the same response of a model as the cell before. */
      continues: z.boolean().optional(),
    },
    {
      ...changed,
      status: z.enum(["ok", "error", "interrupted"]),
      error: executionErrorSchema.nullable(),
      result: mimeBundleSchema.nullable(),
      exit_code: z.int().nullable(),
      duration_ms: z.number().nonnegative(),
      /** Position of the value or error, if output came after it. */
      end_seq: count.optional(),
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
    },
  ),
  get_variable: hostToHead.request({ name: shortText }, orMissing(json)),
  variables: hostToHead.request(nothing, { variables: z.array(variableSchema) }),
  /** What could stand at the cursor, counted in code points. */
  complete: hostToHead.request(cursorSchema, completionSchema),
  /** Whether a text can be run as a cell, or needs more lines. */
  is_complete: hostToHead.request({ code: text }, completenessSchema),
  /** Shows that the head is there and listens. */
  ping: hostToHead.request(nothing),
  ...displayMessages,

  /** A built-in that the host answers. `input` is JSON text, validated separately from the envelope. */
  host_call: headToHost.request(
    { step: count, name: shortText.min(1), input: text },
    { output: json },
  ),

  interrupt: hostToInit.notification({ branch: count, step: count }),
  kill: hostToInit.notification({ branch: count, generation: count }),
  rollback: hostToInit.request(
    { branch: count, checkpoint: count },
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
  fork: hostToInit.request(
    { branch: count, checkpoint: count, new_branch: count },
    orReason({ generation: count }),
  ),
  drop: hostToInit.request({ branch: count }),
  checkpoints: hostToInit.request(
    { branch: count },
    {
      checkpoints: z.array(z.strictObject({ step: count, pid: count })).max(4096),
    },
  ),
  output: initToHost.notification({
    branch: count,
    generation: count,
    step: count.nullable(),
    stream,
    text,
    seq: count,
  }),
  settled: initToHost.notification({
    branch: count,
    generation: count,
    step: count,
    seq: count,
    omitted: omittedBytes,
    processes: count,
  }),
  parked: initToHost.notification({ branch: count, step: count, lost: z.array(shortText).max(64) }),
  died: initToHost.notification({
    branch: count,
    generation: count,
    step: count.nullable(),
    cause: deathCause,
    restored: count,
    next_generation: count,
  }),

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
