import { z } from "zod";
import { MAX_ARGUMENTS } from "./bounds.js";

export const count = z.int().nonnegative();
export const text = z.string();
export const shortText = z.string().max(4096);
/** `sys.argv` from a cell on; the first word names the script. */
export const argvSchema = z.array(text).min(1).max(MAX_ARGUMENTS);

/** Under which a display can be replaced by a later one. */
export const displayId = z.string().min(1).max(200);
/** A display that belongs to the value of the cell, or that replaces the one of its id. */
export const displayRole = z.enum(["result", "update"]);
export const json: z.ZodType<unknown> = z.unknown();
export const nothing = z.strictObject({});
export const stream = z.enum(["stdout", "stderr"]);
export const omittedBytes = z.strictObject({ stdout: count, stderr: count });

/** A message with one attachment. */
export const oneAttachment = z.array(z.strictObject({ bytes: count })).length(1);

export const checkpointMode = z.enum(["always", "auto", "off"]);

export const checkpointMethod = z.enum(["pages", "fork"]);

const checkpointPlan = z.strictObject({
  planned: z.boolean(),
  due: z.boolean().optional(),
  reason: shortText.optional(),
});

export const executionErrorSchema = z.strictObject({
  type: shortText.min(1),
  message: text,
  traceback: text,
  hint: text.optional(),
});

export const mimeBundleSchema = z.record(shortText, text);

export const variableSchema = z.strictObject({
  name: shortText,
  type: shortText,
  text: shortText,
  size: count.optional(),
});

/** A place in a text, counted in code points. */
export const cursorSchema = z.strictObject({ code: text, cursor: count });

/** Possible replacements for the text between `start` and `end`. */
export const completionSchema = z.strictObject({
  matches: z.array(z.string().min(1).max(256)).max(1000),
  start: count,
  end: count,
});

/** As in Jupyter: `indent` is the indentation of the next line. */
export const completenessSchema = z.discriminatedUnion("status", [
  z.strictObject({ status: z.literal("complete") }),
  z.strictObject({ status: z.literal("incomplete"), indent: z.string().max(1024) }),
  z.strictObject({ status: z.literal("invalid") }),
]);

type Link = "zygote" | "template" | "init" | "head" | "writer" | "plain" | "daemon";
type Side = "host" | "inside" | "client" | "daemon";
type Fields = Readonly<Record<string, z.ZodType>>;
type Schema<S extends z.ZodType | Fields> = S extends Fields ? z.ZodObject<S, z.core.$strict> : S;

function schemaOf<S extends z.ZodType | Fields>(given: S): Schema<S> {
  return (given instanceof z.ZodType ? given : z.strictObject(given)) as Schema<S>;
}

/** Describes the messages that one side of a link sends; fields stand for a strict object of them. */
function sender(link: Link, from: Side) {
  return {
    notification: <P extends z.ZodType | Fields>(params: P) => ({
      kind: "notification" as const,
      link,
      from,
      params: schemaOf(params),
    }),
    /** Without a result, the answer is an empty object. */
    request: <P extends z.ZodType | Fields, R extends z.ZodType | Fields = typeof nothing>(
      params: P,
      result?: R,
    ) => ({
      kind: "request" as const,
      link,
      from,
      params: schemaOf(params),
      result: schemaOf(result ?? nothing) as Schema<R>,
    }),
  };
}

export const hostToZygote = sender("zygote", "host");
export const zygoteToHost = sender("zygote", "inside");
export const hostToTemplate = sender("template", "host");
export const hostToPlain = sender("plain", "host");
export const hostToHead = sender("head", "host");
export const headToHost = sender("head", "inside");
export const hostToInit = sender("init", "host");
export const initToHost = sender("init", "inside");
export const writerToHost = sender("writer", "inside");
export const clientToDaemon = sender("daemon", "client");
export const daemonToClient = sender("daemon", "daemon");

/** What every request has that changes the variables: its step, and whether a checkpoint follows. */
export const change = {
  step: count,
  checkpoint: checkpointMode,
  interval_ms: count.optional(),
  rest_ms: count.optional(),
};
export const changed = { checkpoint: checkpointPlan };

/** Success with these fields, or why not. */
export function orReason<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.discriminatedUnion("done", [
    z.strictObject({ done: z.literal(true), ...shape }),
    z.strictObject({ done: z.literal(false), reason: shortText }),
  ]);
}

/** A variable's value, if there is such a variable. */
export function orMissing<T extends z.ZodType>(value: T) {
  return z.discriminatedUnion("found", [
    z.strictObject({ found: z.literal(true), value }),
    z.strictObject({ found: z.literal(false) }),
  ]);
}

/** What the processes of a session may use. */
export const limitsSchema = z.strictObject({
  memory_mb: z.int().positive(),
  processes: z.int().positive(),
  workspace_mb: z.int().positive(),
  tmp_mb: z.int().positive(),
  file_mb: z.int().positive(),
  open_files: z.int().min(32),
  inotify_watches: z.int().min(0),
});
