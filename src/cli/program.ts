import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { z } from "zod";
import { surroundings } from "../config.js";
import { registerBench } from "./bench.js";
import { registerDemo } from "./demo.js";
import { registerDoctor } from "./doctor.js";
import { registerExec } from "./exec.js";
import { EXIT } from "./exit-codes.js";
import { complain, invalidInput, reportFailure } from "./failures.js";
import { registerInstall } from "./install.js";
import { registerRepl } from "./repl.js";

const EXAMPLES = `
Examples:
  cellar demo                        see what it does, in a few seconds
  cellar repl                        a Python prompt in a sandbox
  cellar exec -c "sum(range(10))"    run one cell
  cellar doctor                      what protects you on this machine

Settings come from flags, then CELLAR_* variables, then cellar.config.json in this folder,
then your own config.json, then the defaults.`;

/** Runs one command line and gives the exit code. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const outcome: { code: number } = { code: EXIT.ok };
  const program = buildProgram((code) => {
    outcome.code = code;
  });
  const json = args.includes("--json");
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: "user" });
    return outcome.code;
  } catch (error) {
    return error instanceof CommanderError ? refuse(error, json) : reportFailure(error, json);
  }
}

function buildProgram(finish: (code: number) => void): Command {
  const program = new Command("cellar")
    .description("A sandboxed, stateful Python REPL for LLM agents")
    .version(version(), "-V, --version")
    .helpOption("-h, --help", "show this text")
    .addHelpText("after", EXAMPLES)
    .configureOutput({ writeErr: () => {} })
    .exitOverride();
  registerExec(program, finish);
  registerRepl(program, finish);
  registerDoctor(program, finish);
  registerDemo(program, finish);
  registerInstall(program, finish);
  registerBench(program, finish);
  return program;
}

/** Help and the version end the parser too; everything else was wrong usage. */
function refuse(error: CommanderError, json: boolean): number {
  if (error.exitCode === 0) return EXIT.ok;
  const message = error.message.replace(/^error: /, "").replaceAll("\n", " ");
  if (json) return reportFailure(invalidInput(message), true);
  complain(message, "see cellar --help, or --help of the command");
  return EXIT.usage;
}

function version(): string {
  const text = readFileSync(join(surroundings().packageRoot, "package.json"), "utf8");
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
