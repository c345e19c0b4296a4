import { SESSION_TOOLS } from "../protocol/agent/functions.js";
import type { BuiltinTool } from "./declarations/source.js";

/** The host checks the call; the session that made it does the work. */
export function sessionBuiltins(): Record<string, BuiltinTool> {
  return Object.fromEntries(
    SESSION_TOOLS.map((name): [string, BuiltinTool] => [
      name,
      async ({ arguments: given }) => ({
        value: null,
        inSession: { function: name, arguments: given },
      }),
    ]),
  );
}
