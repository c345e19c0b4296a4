import { type Command, Option } from "commander";
import { addSandboxOptions, collect } from "../options/sandbox-options.js";
import { PLAIN_OPTIONS } from "./arguments.js";
import type { ExecOptions } from "./cells.js";
import type { ExecFiles } from "./files.js";

const EXAMPLES = `
Examples:
  cellar exec -c "sum(range(10))"
  cellar exec -c "x = 6" -c "x * 7"        two cells in one session
  cellar exec load.py report.py            the second sees what the first defined
  cellar exec < script.py                  code from stdin
  cellar exec --mount ./data:/data --timeout 5m report.py
  cellar exec --put sales.csv --out results report.py
  cellar exec report.py -- --year 2024     arguments after -- become the script's sys.argv
  cellar exec --json -c "1 / 0"

Exit codes: the guest's sys.exit code, else 0 ok, 1 uncaught exception, 2 wrong usage,
124 time limit, 125 Cellar failed, 130 cancelled, 134 crashed, 137 out of memory.`;

interface WholeOptions extends ExecOptions {
  readonly put?: readonly string[];
  readonly out?: string;
  readonly force?: true;
}

/** `further` are the script's arguments, after `--`. */
export function registerExec(
  program: Command,
  finish: (code: number) => void,
  further: readonly string[] = [],
): void {
  const command = program
    .command("exec")
    .description("run files or code as cells of one session")
    .argument("[files...]", "Python files, - for stdin, one cell each; -- and their arguments")
    .option("--images <folder>", "save images there that the terminal cannot show")
    .option("--put <file>", "copy a file into /workspace first (repeatable)", collect)
    .option(
      "--out <folder>",
      "copy files that the cells created in /workspace there, even after an error",
    )
    .option("--force", "write into an --out folder that is not empty, replacing files");
  for (const option of PLAIN_OPTIONS) command.addOption(optionOf(option));
  addSandboxOptions(command, "none for a quick start; with a daemon, what it has")
    .addHelpText("after", EXAMPLES)
    .action(async (files: string[], options: WholeOptions) =>
      finish(await exec(files, { ...options, further })),
    );
}

async function exec(files: readonly string[], options: WholeOptions): Promise<number> {
  const { execCells, openForExec } = await import("./cells.js");
  return await execCells(files, options, openForExec, await deliveryOf(options));
}

async function deliveryOf({ put, out, force }: WholeOptions): Promise<ExecFiles | undefined> {
  if (put === undefined && out === undefined) return undefined;
  const { resolveSettings } = await import("../../config.js");
  const { workspaceMb } = resolveSettings().limits;
  const { ExecFiles } = await import("./files.js");
  return await ExecFiles.plan({ put, out, force, workspaceMb });
}

function optionOf({ name, type, text, ...rest }: (typeof PLAIN_OPTIONS)[number]): Option {
  const flags = `${"short" in rest ? `-${rest.short}, ` : ""}--${name}`;
  return type === "string"
    ? new Option(`${flags} <${name}>`, text).argParser(collect)
    : new Option(flags, text);
}
