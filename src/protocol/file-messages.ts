import { z } from "zod";
import { count, request, shortText, text } from "./schema-parts.js";

const MAX_LISTED = 10_000;

/** A path below the session's folder, with names as Python has them. */
const path = z.string().min(1).max(4096);

const failure = z.strictObject({ done: z.literal(false), problem: shortText });

function orFailure<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.discriminatedUnion("done", [
    z.strictObject({ done: z.literal(true), ...shape }),
    failure,
  ]);
}

const listing = z.strictObject({
  files: z
    .array(
      z.strictObject({
        path,
        bytes: count,
        /** Milliseconds since 1970. */
        modified: z.int(),
        kind: z.enum(["file", "folder", "link", "other"]),
      }),
    )
    .max(MAX_LISTED),
  /** Whether there are more than those. */
  cut: z.boolean(),
});

const mode = z.enum(["read", "write"]);
/** What a file has to be read, or what may still come to be written. */
const opened = orFailure({ file: count, bytes: count });
const piece = z.array(z.strictObject({ bytes: count })).length(1);
const read = orFailure({ data: text });
const finished = orFailure({});

/** Files of the session: init answers, or the only process there is. */
export const fileMessages = {
  list_files: request("init", "host", z.strictObject({}), listing),
  open_file: request(
    "init",
    "host",
    /** The most that the folder may hold in all. */
    z.strictObject({ path, mode, max_bytes: count, max_files: count }),
    opened,
  ),
  /** The next bytes in base64; none at the end. */
  read_file: request("init", "host", z.strictObject({ file: count }), read),
  write_file: request(
    "init",
    "host",
    z.strictObject({ file: count, attachments: piece }),
    finished,
  ),
  /** What was written takes its place, or is dropped. */
  close_file: request("init", "host", z.strictObject({ file: count, keep: z.boolean() }), finished),
  /** Which of the mounts that are to be written the session's user may not write, by their places. */
  check_writable: request(
    "init",
    "host",
    z.strictObject({ paths: z.array(text).max(1024) }),
    z.strictObject({ refused: z.array(count).max(1024) }),
  ),
} as const;

const session = z.string().min(1).max(64);

/** The same between a client and its daemon, which knows the limits. */
export const daemonFileMessages = {
  session_list_files: request("daemon", "client", z.strictObject({ session }), listing),
  session_open_file: request("daemon", "client", z.strictObject({ session, path, mode }), opened),
  session_read_file: request("daemon", "client", z.strictObject({ session, file: count }), read),
  session_write_file: request(
    "daemon",
    "client",
    z.strictObject({ session, file: count, attachments: piece }),
    finished,
  ),
  session_close_file: request(
    "daemon",
    "client",
    z.strictObject({ session, file: count, keep: z.boolean() }),
    finished,
  ),
} as const;
