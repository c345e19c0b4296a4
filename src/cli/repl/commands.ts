import type { ISandbox } from "../../backends/backend.js";
import { describeError } from "../../errors.js";
import { writeHostFile, writtenLine } from "../exec/host-files.js";
import { parseSeconds } from "../options/sandbox-options.js";
import { invalidInput } from "../terminal/report-error.js";

export interface ReplState {
  readonly sandbox: ISandbox;
  readonly cells: readonly string[];
  /** Milliseconds; undefined for the session's own limit. */
  timeout: number | undefined;
  readonly isAgent: boolean;
}

const HELP = `%undo [n]      go back to the state before the last n cells (1)
%vars          the variables of the session
%checkpoints   the states you can return to
%timeout [t]   show or set the time limit of a cell: 500ms, 5s, 2m; a bare number is seconds
%info          isolation and Python of this session
%save FILE     write the cells so far to a new file; %save --force FILE replaces one
%help          this text
%quit          leave (as Ctrl-D, exit and quit do)
Ctrl-C interrupts the running cell or clears the line. A blank line ends a block.
Tab completes names, Ctrl-R searches the history, Up brings back the last cell, Alt-Enter adds a line.
Everything else goes to Python, with !command, name? and the usual % magics.`;

export const COMMAND_NAMES: readonly string[] = HELP.match(/^%\w+/gm) ?? [];

const AGENT_HELP = `In Python, for the context:
  peek  grep  context_len  chunk_context       look and search
  list_dir  file_info  SHOW_VARS               what there is
  mark_finding  list_findings                  remember
  llm_call  llm_batch  delegate                ask a model, where one is connected
  archive_open  archive_file                   archives and documents
  archive_search  archive_extract
  web_fetch  web_search  batch_web_search      the web, where the host gives it
  run_shell  run_python_code  benchmark_run    run something
  file_write_safe  log_append                  write files
  escalate  STUCK  my_role  route_advice       ask for help
  FINAL  FINAL_VAR  SUBMIT                     answer
help(grep) and the like show details.`;

const WIDEST_NAME = 24;

const COMMANDS: Readonly<
  Record<string, (state: ReplState, rest: string) => string | Promise<string>>
> = { undo, vars, checkpoints, timeout, info, save, help };

/** The text to show for one of the prompt's own commands; undefined when the line is Python. */
export async function runCommand(line: string, state: ReplState): Promise<string | undefined> {
  const [, name = "", rest = ""] = /^%(\w+)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
  return Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]?.(state, rest) : undefined;
}

function help({ isAgent }: ReplState): string {
  return isAgent ? `${HELP}\n\n${AGENT_HELP}` : HELP;
}

export function isFarewell(text: string): boolean {
  return /^(?:%quit|%exit|(?:exit|quit)(?:\(\))?)$/.test(text.trim());
}

async function undo({ sandbox }: ReplState, rest: string): Promise<string> {
  const count = rest === "" ? 1 : Number(rest);
  if (!Number.isInteger(count) || count < 1) {
    throw invalidInput("%undo takes a whole number of cells from 1 on");
  }
  const { cell } = await sandbox.undo(count);
  return cell === 0 ? "back at the start" : `back to the state after cell ${cell}`;
}

async function vars({ sandbox }: ReplState): Promise<string> {
  const found = await sandbox.variables();
  if (found.length === 0) return "no variables";
  const width = (texts: readonly string[]) =>
    Math.min(WIDEST_NAME, Math.max(...texts.map(({ length }) => length)));
  const names = width(found.map(({ name }) => name));
  const kinds = width(found.map(({ type }) => type));
  return found
    .map(({ name, type, text }) => {
      const [line = "", more] = text.split("\n", 2);
      return `${name.padEnd(names)}  ${type.padEnd(kinds)}  ${line}${more === undefined ? "" : " …"}`;
    })
    .join("\n");
}

async function checkpoints({ sandbox }: ReplState): Promise<string> {
  const cells = [...new Set((await sandbox.checkpoints()).map(({ cell }) => cell))];
  return cells.map((cell) => (cell === 0 ? "the start" : `after cell ${cell}`)).join("\n");
}

function timeout(state: ReplState, rest: string): string {
  if (rest !== "") {
    try {
      state.timeout = parseSeconds(rest);
    } catch (error) {
      throw invalidInput(`%timeout: ${describeError(error)}`);
    }
  }
  return state.timeout === undefined
    ? "the session's own time limit"
    : `time limit ${state.timeout / 1000} s`;
}

function info({ sandbox }: ReplState): string {
  const { isolation, python, backend, mode, reason } = sandbox.info;
  const missing =
    isolation.missing.length === 0 ? "" : ` (missing: ${isolation.missing.join(", ")})`;
  return [
    `isolation  ${isolation.level}${missing}`,
    `python     ${python.version}, ${python.executable}`,
    `backend    ${backend}, ${mode}: ${reason}`,
  ].join("\n");
}

async function save({ cells }: ReplState, rest: string): Promise<string> {
  const [, force, path = ""] = /^(--force\s+)?(.*)$/.exec(rest.trim()) ?? [];
  if (path === "") throw invalidInput("%save needs the name of a file");
  const text = cells.map((cell) => `#%%\n${cell.trimEnd()}\n`).join("\n");
  return writtenLine(await writeHostFile(path, text, { force: force !== undefined }));
}
