import type { Params } from "../../protocol/messages.js";
import { encodeValue } from "../../protocol/values.js";
import { filePath } from "../session/context/context.js";

export type WireContext = Params<"session_initialize">["context"];

/** A longer text is put into a file, which the daemon opens and removes with the session. */
const SHORT_TEXT = 1024 * 1024;

/** Fixes what was given now; what has to be written down for the daemon is written when asked for. */
export function packContext(given: unknown): (daemon: number) => Promise<WireContext> {
  const path = filePath(given);
  if (path !== undefined) {
    const wire = { kind: "file", path, temporary: false } as const;
    return async () => wire;
  }
  // UTF-8 has no word for half of a pair of surrogates; JSON has.
  if (typeof given === "string" && given.length > SHORT_TEXT && given.isWellFormed()) {
    return async (daemon) => (await import("./spool.js")).spool(given, daemon);
  }
  const value = JSON.stringify(encodeValue(given ?? null));
  return async () => ({ kind: "value", value });
}
