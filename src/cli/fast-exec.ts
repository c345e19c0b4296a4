import { parseArgs } from "node:util";
import { hasSocket } from "../backends/daemon/address.js";
import { isRefusal } from "../backends/daemon/refusals.js";
import { DaemonRuntime } from "../backends/daemon/runtime.js";
import { isCellarError } from "../errors.js";
import { PLAIN_OPTIONS, splitWords } from "./exec/arguments.js";
import { type ExecOptions, execCells } from "./exec/cells.js";
import { reportFailure } from "./terminal/report-error.js";
import { leave, watchProcess } from "./terminal/signals.js";

interface PlainCommand {
  readonly files: readonly string[];
  readonly options: ExecOptions;
}

/**
 * Runs simple `exec` command lines in a running daemon and exits. Returns, before doing anything, when
 * it cannot; then the whole program takes over. The build bundles this file: loading modules takes
 * longer than a cell.
 */
export async function execQuickly(args: readonly string[]): Promise<void> {
  const command = readPlainly(args);
  if (command === undefined) return;
  const runtime = new DaemonRuntime();
  if (!isRunning(runtime)) return;
  const tidy = () => runtime[Symbol.asyncDispose]();
  const code = await runIn(runtime, command, () => watchProcess(tidy));
  if (code !== undefined) await leave(code, tidy);
}

async function runIn(
  runtime: DaemonRuntime,
  { files, options }: PlainCommand,
  begin: () => void,
): Promise<number | undefined> {
  let isOurs = false;
  try {
    return await execCells(files, options, async (config) => {
      const sandbox = await runtime.createSandbox(config);
      isOurs = true;
      begin();
      return sandbox;
    });
  } catch (error) {
    // The whole program says where a wrong setting came from.
    const isLeft = isRefusal(error) || isCellarError(error, "INVALID_CONFIG");
    return !isOurs && isLeft ? undefined : reportFailure(error, options.json);
  }
}

/** Undefined for everything that commander should parse, wrong usage included. */
function readPlainly(args: readonly string[]): PlainCommand | undefined {
  // Standard input can be read only once, so the whole program could not read it again.
  if (args.includes("-")) return undefined;
  try {
    const { own, further } = splitWords(args);
    const { values, positionals: files } = parseArgs({
      args: own,
      options: Object.fromEntries(PLAIN_OPTIONS.map((option) => [option.name, option])),
      allowPositionals: true,
    });
    const isPiped = files.length === 0 && further.length === 0 && values.code === undefined;
    return isPiped ? undefined : { files, options: { ...(values as ExecOptions), further } };
  } catch {
    return undefined;
  }
}

function isRunning({ address }: DaemonRuntime): boolean {
  try {
    return hasSocket(address);
  } catch {
    return false;
  }
}
