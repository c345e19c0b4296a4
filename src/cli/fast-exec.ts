import { parseArgs } from "node:util";
import { daemonAddress, hasSocket } from "../backends/daemon/address.js";
import { isRefusal } from "../backends/daemon/refusals.js";
import type { DaemonRuntime } from "../backends/daemon/runtime.js";
import { shutdown } from "../backends/shared.js";
import { hostEnvironment } from "../config/environment.js";
import { isCellarError } from "../errors.js";
import { PLAIN_OPTIONS, splitWords } from "./exec/arguments.js";
import { type ExecOptions, execCells, openForExec } from "./exec/cells.js";
import { reportFailure } from "./terminal/report-error.js";
import { leave, watchProcess } from "./terminal/signals.js";

interface PlainCommand {
  readonly files: readonly string[];
  readonly options: ExecOptions;
}

/**
 * Runs simple `exec` command lines and exits: in a running daemon, else in a session of its own.
 * Returns, before doing anything, where the whole program has to parse them: its parser and its
 * other commands take longer to load than this.
 */
export async function execQuickly(args: readonly string[]): Promise<void> {
  const command = readPlainly(args);
  if (command === undefined) return;
  if (isDaemonRunning()) await execInDaemon(command);
  watchProcess(shutdown);
  const { files, options } = command;
  const code = await execCells(files, options, openForExec).catch((error: unknown) =>
    reportFailure(error, options.json),
  );
  await leave(code, shutdown);
}

/** Returns, before doing anything, when the daemon refuses. */
async function execInDaemon(command: PlainCommand): Promise<void> {
  const { DaemonRuntime } = await import("../backends/daemon/runtime.js");
  const runtime = new DaemonRuntime();
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
    // A session of this process says where a wrong setting came from.
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

function isDaemonRunning(): boolean {
  try {
    return hasSocket(daemonAddress(hostEnvironment().home));
  } catch {
    return false;
  }
}
