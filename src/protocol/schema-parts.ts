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

export const checkpointMode = z.enum(["always", "idle", "off"]);

export const checkpointPlan = z.strictObject({
  planned: z.boolean(),
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

/** `link` names the channel, `from` the sender. */
export type Link = "zygote" | "template" | "init" | "head" | "writer" | "plain" | "daemon";
type Side = "host" | "inside" | "client" | "daemon";

export interface NotificationSpec<P extends z.ZodType> {
  readonly kind: "notification";
  readonly link: Link;
  readonly from: Side;
  readonly params: P;
}

export interface RequestSpec<P extends z.ZodType, R extends z.ZodType> {
  readonly kind: "request";
  readonly link: Link;
  readonly from: Side;
  readonly params: P;
  readonly result: R;
}

export function notification<P extends z.ZodType>(
  link: Link,
  from: Side,
  params: P,
): NotificationSpec<P> {
  return { kind: "notification", link, from, params };
}

export function request<P extends z.ZodType, R extends z.ZodType>(
  link: Link,
  from: Side,
  params: P,
  result: R,
): RequestSpec<P, R> {
  return { kind: "request", link, from, params, result };
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
