import type { BuiltinTool } from "./declarations/source.js";

/** Built-ins of declarations that work on a session's own files and processes. */
const SESSION_FUNCTIONS = [
  "python_eval",
  "run_shell",
  "git_status",
  "read_file",
  "write_file",
  "list_directory",
  "archive_open",
  "archive_extract",
  "archive_file",
  "archive_search",
] as const;

/** The host checks the call; the session that made it does the work. */
export function sessionBuiltins(): Record<string, BuiltinTool> {
  return Object.fromEntries(
    SESSION_FUNCTIONS.map((name): [string, BuiltinTool] => [
      name,
      async ({ arguments: given }) => ({
        value: null,
        inSession: { function: name, arguments: given },
      }),
    ]),
  );
}
