import { parseArgs } from "node:util";
import { isInhabited } from "../backends/daemon/address.js";
import { DaemonRuntime, isRefusal } from "../backends/daemon/runtime.js";
import { isCellarError } from "../errors.js";
import { type ExecOptions, execCells } from "./exec/cells.js";
import { splitWords } from "./exec/words.js";
import { reportFailure } from "./terminal/report-error.js";
import { leave, watchProcess } from "./terminal/signals.js";

interface PlainCommand {
  readonly files: readonly string[];
  readonly options: ExecOptions;
}

/**
 * Runs the plainest command lines of `exec` in a daemon that is there, and leaves. Returns when that
 * is not to be had, before anything was done; the whole program then does it in its own way. What
 * this file needs is bundled into it: loading modules takes longer than a cell.
 */
export async function execQuickly(args: readonly string[]): Promise<void> {
  const command = readPlainly(args);
  if (command === undefined) return;
  const runtime = new DaemonRuntime();
  if (!isThere(runtime)) return;
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
    // The whole program tells of settings where they came from.
    const isLeft = isRefusal(error) || isCellarError(error, "INVALID_CONFIG");
    return !isOurs && isLeft ? undefined : reportFailure(error, options.json);
  }
}

/** Undefined for everything that the parser of commands should see, wrong ones included. */
function readPlainly(args: readonly string[]): PlainCommand | undefined {
  // Standard input can be read only once, so that there would be no way back.
  if (args.includes("-")) return undefined;
  try {
    const { own, further } = splitWords(args);
    const { values, positionals: files } = parseArgs({
      args: own,
      options: {
        code: { type: "string", short: "c", multiple: true },
        json: { type: "boolean" },
        quiet: { type: "boolean", short: "q" },
      },
      allowPositionals: true,
    });
    const { code, json, quiet } = values;
    const isPiped = files.length === 0 && further.length === 0 && code === undefined;
    if (isPiped) return undefined;
    const options = {
      ...(code !== undefined && { code }),
      ...(json === true && { json }),
      ...(quiet === true && { quiet }),
    };
    return { files, options: { ...options, further } };
  } catch {
    return undefined;
  }
}

function isThere({ address }: DaemonRuntime): boolean {
  try {
    return isInhabited(address);
  } catch {
    return false;
  }
}
