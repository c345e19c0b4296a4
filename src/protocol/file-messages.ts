import { z } from "zod";
import {
  clientToDaemon,
  count,
  hostToInit,
  oneAttachment,
  shortText,
  text,
} from "./schema-parts.js";

const MAX_LISTED = 10_000;

/** A path below the session's folder, with names as Python has them. */
const path = z.string().min(1).max(4096);

function orFailure<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.discriminatedUnion("done", [
    z.strictObject({ done: z.literal(true), ...shape }),
    z.strictObject({ done: z.literal(false), problem: shortText }),
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
const read = orFailure({ data: text });
const finished = orFailure({});

/** Files of the session: init answers, or the only process there is. */
export const fileMessages = {
  list_files: hostToInit.request({}, listing),
  open_file: hostToInit.request(
    /** The most that the folder may hold in all. */
    { path, mode, max_bytes: count, max_files: count },
    opened,
  ),
  /** The next bytes in base64; none at the end. */
  read_file: hostToInit.request({ file: count }, read),
  write_file: hostToInit.request({ file: count, attachments: oneAttachment }, finished),
  /** What was written takes its place, or is dropped. */
  close_file: hostToInit.request({ file: count, keep: z.boolean() }, finished),
  /** Which of the mounts that are to be written the session's user may not write, by their places. */
  check_writable: hostToInit.request(
    { paths: z.array(text).max(1024) },
    { refused: z.array(count).max(1024) },
  ),
} as const;

const session = z.string().min(1).max(64);

/** The same between a client and its daemon, which knows the limits. */
export const daemonFileMessages = {
  session_list_files: clientToDaemon.request({ session }, listing),
  session_open_file: clientToDaemon.request({ session, path, mode }, opened),
  session_read_file: clientToDaemon.request({ session, file: count }, read),
  session_write_file: clientToDaemon.request(
    { session, file: count, attachments: oneAttachment },
    finished,
  ),
  session_close_file: clientToDaemon.request({ session, file: count, keep: z.boolean() }, finished),
} as const;
