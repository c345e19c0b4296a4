import type { CodeExecution, ISandbox, REPLConfig } from "../../backends/backend.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { type SandboxOptions, toConfig } from "../options/sandbox-config.js";
import { openScreen } from "../terminal/displays.js";
import { executionJson, showEnding } from "../terminal/execution-view.js";
import { describeFailure, writeJson } from "../terminal/report-error.js";
import { Interruption } from "../terminal/signals.js";
import { withProgress } from "../terminal/terminal.js";
import { readCells } from "./cell-sources.js";
import type { ExecFiles } from "./files.js";
import type { Written } from "./host-files.js";

export interface ExecOptions extends SandboxOptions {
  readonly code?: readonly string[];
  readonly json?: true;
  readonly quiet?: true;
  readonly images?: string;
  readonly further?: readonly string[];
}

export type Opening = (config: REPLConfig) => Promise<ISandbox>;

/** A daemon has already imported the modules; without one, preloading would slow the start. */
export async function openForExec(config: REPLConfig): Promise<ISandbox> {
  const { openSandbox } = await import("../../backends/select.js");
  return await openSandbox(config, { preload: config.preload ?? "none", poolSize: 0 });
}

export async function execCells(
  named: readonly string[],
  options: ExecOptions,
  make: Opening,
  delivery?: ExecFiles,
): Promise<number> {
  const { code: given, further: words = [] } = options;
  // After `--` alone, words are files whose names begin like options.
  const isBare = named.length === 0 && given === undefined;
  const [files, further] = isBare ? [words, []] : [named, words];
  const sources = await readCells(files, given);
  const unnamed = given === undefined ? "-" : "-c";
  const cells = sources.map((code, at) => ({ code, argv: [files[at] ?? unnamed, ...further] }));
  using interruption = new Interruption();
  const { signal } = interruption;
  // Nothing comes after a failure, so there is nothing to go back to.
  const config: REPLConfig = { ...toConfig(options), checkpoints: "off", signal };
  const open = async (callbacks: REPLConfig) => {
    const sandbox = await withProgress("starting Python…", make({ ...config, ...callbacks }));
    await delivery?.bring(sandbox, signal);
    return sandbox;
  };
  return options.json === true
    ? await runForJson(cells, open, signal, delivery)
    : await runForPeople(cells, options, open, signal, delivery);
}

export interface ScriptCell {
  readonly code: string;
  readonly argv: readonly string[];
}

async function runForJson(
  cells: readonly ScriptCell[],
  open: Opening,
  signal: AbortSignal,
  delivery: ExecFiles | undefined,
): Promise<number> {
  const sandbox = await open({});
  const executions: CodeExecution[] = [];
  for (const { code, argv } of cells) {
    const execution = await sandbox.execute(code, { argv, signal });
    executions.push(execution);
    if (exitCodeOf(execution) !== EXIT.ok) break;
  }
  const last = executions.at(-1);
  const shown = executions.map(executionJson);
  const files = await filesJson(sandbox, cells, delivery);
  writeJson({ ...(cells.length === 1 ? shown[0] : { executions: shown }), ...files });
  if (files.filesError !== undefined) return EXIT.cellar;
  return last === undefined ? EXIT.ok : exitCodeOf(last);
}

/** The copied files, or why copying failed: the results are printed in any case. */
async function filesJson(
  sandbox: ISandbox,
  cells: readonly ScriptCell[],
  delivery: ExecFiles | undefined,
): Promise<{ readonly files?: readonly Written[]; readonly filesError?: object }> {
  try {
    const files = await delivery?.take(sandbox, cells);
    return files === undefined ? {} : { files };
  } catch (error) {
    return { filesError: describeFailure(error) };
  }
}

async function runForPeople(
  cells: readonly ScriptCell[],
  options: ExecOptions,
  open: Opening,
  signal: AbortSignal,
  delivery: ExecFiles | undefined,
): Promise<number> {
  const screen = openScreen(options.images);
  const { stdout, stderr, displays } = screen;
  const sandbox = await open({
    onStdout: (text) => stdout.write(text),
    onStderr: (text) => stderr.write(text),
    onBackground: (text, stream) => (stream === "stdout" ? stdout : stderr).write(text),
    onDisplay: (output) => displays.show(output),
  });
  let code: number = EXIT.ok;
  for (const { code: source, argv } of cells) {
    const execution = await sandbox.execute(source, { argv, signal });
    if (options.quiet !== true && execution.result !== null) {
      stdout.write(`${execution.result["text/plain"] ?? ""}\n`);
    }
    showEnding(execution, screen);
    code = exitCodeOf(execution);
    if (code !== EXIT.ok) break;
  }
  displays.tellUnshown();
  const written = await delivery?.take(sandbox, cells);
  if (written !== undefined) delivery?.tell(written);
  return code;
}
