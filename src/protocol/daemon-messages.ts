import { z } from "zod";
import {
  agentReportSchema,
  replacedSchema,
  replayedSchema,
  replaySchema,
  spilledFolderSchema,
  spilledSchema,
} from "./agent/messages.js";
import { displayMessages } from "./display-messages.js";
import {
  argvSchema,
  clientToDaemon,
  completenessSchema,
  completionSchema,
  count,
  cursorSchema,
  daemonToClient,
  executionErrorSchema,
  json,
  mimeBundleSchema,
  nothing,
  omittedBytes,
  orMissing,
  shortText,
  stream,
  text,
  variableSchema,
} from "./schema-parts.js";
import { toolsSchema } from "./tool-messages.js";

const session = z.string().min(1).max(64);

/** JSON text, validated separately: the content of a value must not end the link. */
const valueText = text;

const isolation = z.strictObject({
  level: z.enum(["L0", "L1", "L2", "L3-", "L3", "L4"]),
  missing: z.array(shortText).max(64),
});

const place = z.strictObject({
  session,
  info: z.strictObject({
    mode: z.enum(["zygote", "plain"]),
    isolation,
    python: z.strictObject({ version: shortText, executable: text }),
    reason: text,
  }),
});

const query = z.strictObject({ session, query: count });

const checkpoint = z.strictObject({ id: count, cell: count });

const afterResult = z.literal(true).optional();

const output = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("stdout"), text, after_result: afterResult }),
  z.strictObject({ type: z.literal("stderr"), text, after_result: afterResult }),
  /** Which of the displays that were sent while the cell ran. */
  z.strictObject({ type: z.literal("display"), index: count, after_result: afterResult }),
]);

const execution = z.strictObject({
  number: count,
  status: z.enum(["ok", "error", "timeout", "cancelled", "oom", "crashed"]),
  error: executionErrorSchema.nullable(),
  result: mimeBundleSchema.nullable(),
  outputs: z.array(output).max(20_000),
  omitted: omittedBytes,
  exit_code: z.int().nullable(),
  background: count,
  duration_ms: z.number().nonnegative(),
  isolation,
  state: z.strictObject({
    survived: z.boolean(),
    checkpoint: count.nullable(),
    unsaved: count.optional(),
    lost_cells: z.array(count).max(10_000).optional(),
    reason: text.optional(),
    lost: z.array(text).max(64).optional(),
  }),
  replaced: replacedSchema.optional(),
  agent: agentReportSchema.optional(),
});

/** Between a client and the daemon of the same user. The client asks; only queries go the other way. */
export const daemonMessages = {
  /** The first message. Its shape and that of `daemon_stop` stay the same in every version. */
  daemon_greet: clientToDaemon.request(
    { protocol: count, version: shortText },
    { protocol: count, version: shortText, pid: count },
  ),
  daemon_stop: clientToDaemon.request(nothing),
  daemon_keep: clientToDaemon.request(nothing),
  daemon_status: clientToDaemon.request(
    { settled: z.boolean() },
    {
      kept: z.boolean(),
      clients: count,
      sessions: count,
      uptime_ms: count,
      warmth: z.discriminatedUnion("state", [
        z.strictObject({ state: z.literal("warming") }),
        z.strictObject({ state: z.literal("ready"), isolation, python: shortText }),
        z.strictObject({ state: z.literal("failed"), reason: text }),
      ]),
    },
  ),

  session_create: clientToDaemon.request(
    {
      /** As in a settings file. */
      settings: z.record(shortText, json),
      /** Where the client would look for a Python that the settings do not name. */
      search: z.strictObject({ path: text, package_root: text, python: text }),
      mounts: z.array(z.strictObject({ host: text, guest: text, readonly: z.boolean() })).max(1024),
      environment: z.record(shortText, text),
      listens: z.array(z.enum(["stdout", "stderr", "background"])).max(3),
      answers: z.array(z.enum(["llm_query", "rlm_query"])).max(2),
      tools: toolsSchema.optional(),
    },
    place,
  ),
  session_initialize: clientToDaemon.request({
    session,
    context: z.discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("value"), value: valueText }),
      /** A temporary one was made for the session, and ends with it. */
      z.strictObject({ kind: z.literal("file"), path: text.min(1), temporary: z.boolean() }),
    ]),
  }),
  session_execute: clientToDaemon.request(
    {
      session,
      cell: count,
      code: text,
      timeout_ms: count.optional(),
      max_output: count.optional(),
      argv: argvSchema.optional(),
      continues: z.boolean().optional(),
      /** What the cell is called, where an earlier session has counted so far. */
      number: count.optional(),
      /** It was cancelled before it was sent, and counts without being run. */
      cancelled: z.boolean(),
    },
    execution,
  ),
  /** One cell, or null for all that run and wait. */
  session_cancel: clientToDaemon.notification({ session, cell: count.nullable() }),
  session_get_variable: clientToDaemon.request({ session, name: text }, orMissing(valueText)),
  session_set_variable: clientToDaemon.request({ session, name: shortText, value: valueText }),
  session_variables: clientToDaemon.request({ session }, { variables: z.array(variableSchema) }),
  session_complete: clientToDaemon.request(cursorSchema.extend({ session }), completionSchema),
  session_is_complete: clientToDaemon.request({ session, code: text }, completenessSchema),
  session_get_agent_state: clientToDaemon.request({ session }, { state: valueText }),
  session_set_agent_state: clientToDaemon.request({ session, state: valueText }),
  session_replay_chain: clientToDaemon.request(replaySchema.extend({ session }), replayedSchema),
  session_put_spilled: clientToDaemon.request(
    spilledSchema.extend({ session }),
    spilledFolderSchema,
  ),
  session_checkpoints: clientToDaemon.request(
    { session },
    {
      checkpoints: z.array(checkpoint).max(4096),
    },
  ),
  session_undo: clientToDaemon.request({ session, cells: count }, checkpoint),
  session_fork: clientToDaemon.request({ session }, place),
  session_destroy: clientToDaemon.request({ session }),

  session_output: daemonToClient.notification({
    session,
    stream,
    background: z.boolean(),
    text,
  }),
  session_display: daemonToClient.notification(
    displayMessages.display.params
      .omit({ step: true, seq: true })
      .extend({ session, metadata: valueText }),
  ),
  session_query: daemonToClient.request(
    z.discriminatedUnion("name", [
      query.extend({ name: z.literal("llm_query"), prompt: text, model: text.nullable() }),
      query.extend({
        name: z.literal("rlm_query"),
        task: text,
        /** Null for the context of the session, which the client has. */
        context: valueText.nullable(),
        model: text.nullable(),
      }),
      query.extend({ name: z.literal("tool"), tool: shortText.min(1), input: valueText }),
    ]),
    /** Of a tool, a value as JSON of its own. */
    { output: text },
  ),
  /** The query was cancelled. */
  session_query_over: daemonToClient.notification(query),
} as const;
