import type { Command } from "commander";
import type { CodeExecution, ISandbox, REPLConfig } from "../backends/backend.js";
import { createSandbox } from "../backends/select.js";
import { readCells } from "./cell-sources.js";
import { Displays } from "./displays.js";
import { executionJson, showError, showOmission } from "./execution-view.js";
import { EXIT, exitCodeOf } from "./exit-codes.js";
import { complain, writeJson } from "./failures.js";
import { imageProtocol } from "./images.js";
import { Interruption } from "./process-end.js";
import { addSandboxOptions, type SandboxOptions, toConfig } from "./sandbox-options.js";
import { GuestText, withProgress } from "./terminal.js";

interface ExecOptions extends SandboxOptions {
  readonly code?: string;
  readonly json?: true;
  readonly quiet?: true;
  readonly images?: string;
}

const EXAMPLES = `
Examples:
  cellar exec -c "sum(range(10))"
  cellar exec load.py report.py            the second sees what the first defined
  cellar exec - < script.py
  cellar exec --mount ./data:/data --timeout 300 report.py
  cellar exec --json -c "1 / 0"

Exit codes: the guest's sys.exit code, else 0 ok, 1 uncaught exception, 2 wrong usage,
124 time limit, 125 Cellar failed, 130 cancelled, 134 crashed, 137 out of memory.`;

export function registerExec(program: Command, finish: (code: number) => void): void {
  const command = program
    .command("exec")
    .description("run files or code as cells of one session")
    .argument("[files...]", "Python files, - for stdin; they run one after the other")
    .option("-c, --code <code>", "run this code")
    .option("--json", "print one JSON object with the whole result and nothing else")
    .option("-q, --quiet", "do not print the value of the last expression")
    .option("--images <folder>", "save images there that the terminal cannot show");
  addSandboxOptions(command, "none, for a quick start")
    .addHelpText("after", EXAMPLES)
    .action(async (files: string[], options: ExecOptions) => finish(await exec(files, options)));
}

async function exec(files: readonly string[], options: ExecOptions): Promise<number> {
  const cells = await readCells(files, options.code);
  using interruption = new Interruption();
  const run = options.json === true ? runForJson : runForPeople;
  return await run(cells, options, interruption.signal);
}

async function runForJson(
  cells: readonly string[],
  options: ExecOptions,
  signal: AbortSignal,
): Promise<number> {
  const sandbox = await open({}, options, signal);
  const executions: CodeExecution[] = [];
  for (const code of cells) {
    const execution = await sandbox.execute(code, { signal });
    executions.push(execution);
    if (exitCodeOf(execution) !== EXIT.ok) break;
  }
  const last = executions.at(-1);
  const shown = executions.map(executionJson);
  writeJson(cells.length === 1 ? shown[0] : { executions: shown });
  return last === undefined ? EXIT.ok : exitCodeOf(last);
}

async function runForPeople(
  cells: readonly string[],
  options: ExecOptions,
  signal: AbortSignal,
): Promise<number> {
  const stdout = new GuestText(process.stdout);
  const stderr = new GuestText(process.stderr);
  const displays = new Displays({
    stdout,
    stream: process.stdout,
    protocol: imageProtocol(process.stdout),
    folder: options.images,
    onSaved: (path) => process.stderr.write(`cellar: saved ${path}\n`),
  });
  const callbacks: REPLConfig = {
    onStdout: (text) => stdout.write(text),
    onStderr: (text) => stderr.write(text),
    onBackground: (text, stream) => (stream === "stdout" ? stdout : stderr).write(text),
    onDisplay: (output) => displays.show(output),
  };
  const sandbox = await open(callbacks, options, signal);
  let code: number = EXIT.ok;
  for (const source of cells) {
    const execution = await sandbox.execute(source, { signal });
    if (options.quiet !== true && execution.result !== null) {
      stdout.write(`${execution.result["text/plain"] ?? ""}\n`);
    }
    stdout.finish();
    showError(execution, stderr);
    stderr.finish();
    showOmission(execution);
    code = exitCodeOf(execution);
    if (code !== EXIT.ok) break;
  }
  if (displays.unshown > 0) {
    complain(`${displays.unshown} image(s) were not shown`, "save them with --images FOLDER");
  }
  return code;
}

/** One session without spare ones and without checkpoints: nothing comes after a failure. */
async function open(
  callbacks: REPLConfig,
  options: ExecOptions,
  signal: AbortSignal,
): Promise<ISandbox> {
  const starting = createSandbox({
    preload: "none",
    ...toConfig(options),
    ...callbacks,
    poolSize: 0,
    checkpoints: "off",
    signal,
  });
  return withProgress("starting Python…", starting);
}
