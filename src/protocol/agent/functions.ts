/**
 * - `explore`: shows something of the context or of files
 * - `delegate`: asks a model to read
 * - `measure`: is logged, but shows nothing of the context
 * - `act`: changes something, or runs code
 * - `note`: reads or writes the session's own notes, and is not logged
 * - `answer`: ends the task, and is not logged
 */
type Kind = "explore" | "delegate" | "measure" | "act" | "note" | "answer";

interface AgentFunction {
  readonly kind: Kind;
  /** Ids of its calls begin with it; only calls that are logged have one. */
  readonly prefix?: string;
}

/** Calls of everything without a prefix of its own. */
export const OTHER_PREFIX = "X";

/** The functions of an agent: the one list, from which `npm run protocol` writes the runner's. */
export const AGENT_FUNCTIONS: Readonly<Record<string, AgentFunction>> = {
  peek: { kind: "explore", prefix: "P" },
  grep: { kind: "explore", prefix: "G" },
  list_dir: { kind: "explore", prefix: "D" },
  file_info: { kind: "explore", prefix: "F" },
  context_len: { kind: "measure", prefix: OTHER_PREFIX },
  chunk_context: { kind: "explore", prefix: OTHER_PREFIX },
  mark_finding: { kind: "note" },
  list_findings: { kind: "note" },
  llm_call: { kind: "delegate", prefix: "L" },
  llm_batch: { kind: "delegate", prefix: "B" },
  archive_open: { kind: "explore", prefix: OTHER_PREFIX },
  archive_file: { kind: "explore", prefix: OTHER_PREFIX },
  archive_search: { kind: "explore", prefix: OTHER_PREFIX },
  archive_extract: { kind: "act", prefix: OTHER_PREFIX },
  web_fetch: { kind: "explore", prefix: "W" },
  web_search: { kind: "explore", prefix: "W" },
  batch_web_search: { kind: "explore", prefix: "W" },
  run_shell: { kind: "act", prefix: "S" },
  run_python_code: { kind: "act", prefix: OTHER_PREFIX },
  benchmark_run: { kind: "act", prefix: OTHER_PREFIX },
  file_write_safe: { kind: "act", prefix: OTHER_PREFIX },
  log_append: { kind: "act", prefix: OTHER_PREFIX },
  delegate: { kind: "delegate", prefix: "L" },
  escalate: { kind: "act", prefix: OTHER_PREFIX },
  STUCK: { kind: "note" },
  my_role: { kind: "note" },
  route_advice: { kind: "note" },
  SHOW_VARS: { kind: "note" },
  FINAL: { kind: "answer" },
  FINAL_VAR: { kind: "answer" },
  SUBMIT: { kind: "answer" },
};

/** Tools of the catalogue that the session does itself, once the host has allowed the call. */
export const SESSION_TOOLS = [
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

/** Of calls that are logged, of functions that only some sessions have. */
export const OTHER_PREFIXES: Readonly<Record<string, string>> = {
  TOOL: "T",
  CALL: "C",
  recall: "R",
  code_search: "CS",
  doc_search: "DS",
};

export function functionsOf(...kinds: readonly Kind[]): readonly string[] {
  return Object.entries(AGENT_FUNCTIONS).flatMap(([name, { kind }]) =>
    kinds.includes(kind) ? [name] : [],
  );
}

/** Name to prefix, of the functions whose calls are logged. */
export const CALL_PREFIXES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(AGENT_FUNCTIONS).flatMap(([name, { prefix }]) =>
    prefix === undefined ? [] : [[name, prefix]],
  ),
);
