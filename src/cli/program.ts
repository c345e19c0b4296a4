import { Command, CommanderError } from "commander";
import { shutdown } from "../backends/shared.js";
import { packageVersion } from "../config/environment.js";
import { splitWords } from "./exec/arguments.js";
import { EXIT } from "./exit-codes.js";
import { commandOf, describeMisuse } from "./terminal/misuse.js";
import { invalidInput, reportFailure } from "./terminal/report-error.js";
import { leave, watchProcess } from "./terminal/signals.js";

type Register = (
  program: Command,
  finish: (code: number) => void,
  further: readonly string[],
  tree: (called: string | undefined) => Promise<Command>,
) => void;

/** A command's modules are loaded when it is called; loading all takes longer than many a cell. */
const COMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  exec: async () => (await import("./exec/command.js")).registerExec,
  repl: async () => (await import("./repl/command.js")).registerRepl,
  notebook: async () => (await import("./notebook/command.js")).registerNotebook,
  mcp: async () => (await import("./mcp/command.js")).registerMcp,
  tools: async () => (await import("./tools/command.js")).registerTools,
  rlm: async () => (await import("./rlm/command.js")).registerRlm,
  trace: async () => (await import("./rlm/trace.js")).registerTrace,
  daemon: async () => (await import("./daemon/command.js")).registerDaemon,
  doctor: async () => (await import("./doctor/command.js")).registerDoctor,
  demo: async () => (await import("./demo/command.js")).registerDemo,
  install: async () => (await import("./install/command.js")).registerInstall,
  completion: async () => (await import("./completion/command.js")).registerCompletion,
};

/** Those whose words behind `--` are not this program's. */
const WITH_FURTHER_WORDS: readonly string[] = ["exec", "completion"];

const EXAMPLES = `
Examples:
  cellar demo                        see what it does, in a few seconds
  cellar repl                        a Python prompt in a sandbox
  cellar exec -c "sum(range(10))"    run one cell
  cellar notebook run NAME -c "x=1"  cells and variables that persist
  cellar mcp                         a notebook for any agent, over MCP
  cellar tools list                  what agents can call from Python
  cellar rlm "…" --context FILE …    let a model answer a question about a text
  cellar daemon start                keep sessions warm for the next commands
  cellar doctor                      what protects you on this machine

Settings come from flags, then CELLAR_* variables, then cellar.config.json in this folder,
then your own config.json, then the defaults.`;

export async function runToEnd(args: readonly string[]): Promise<never> {
  watchProcess(shutdown);
  return await leave(await runCommandLine(args), shutdown);
}

async function runCommandLine(args: readonly string[]): Promise<number> {
  const outcome: { code: number } = { code: EXIT.ok };
  const { own, further } = WITH_FURTHER_WORDS.includes(args[0] ?? "")
    ? splitWords(args)
    : { own: args, further: [] };
  const finish = (code: number) => {
    outcome.code = code;
  };
  const program = await buildProgram(args[0], finish, further);
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(own, { from: "user" });
    return outcome.code;
  } catch (error) {
    return error instanceof CommanderError
      ? refuse(error, own, program)
      : reportFailure(error, own.includes("--json"));
  }
}

export function commandTree(called: string | undefined): Promise<Command> {
  return buildProgram(called, () => {}, []);
}

async function buildProgram(
  called: string | undefined,
  finish: (code: number) => void,
  further: readonly string[],
): Promise<Command> {
  const program = new Command("cellar")
    .description("A sandboxed, stateful Python REPL for LLM agents")
    .version(packageVersion(), "-V, --version")
    .helpOption("-h, --help", "show this text")
    .addHelpText("after", EXAMPLES)
    .configureOutput({ writeErr: () => {} })
    .exitOverride();
  const known = Object.keys(COMMANDS);
  const wanted = called !== undefined && known.includes(called) ? [called] : known;
  for (const name of wanted) (await COMMANDS[name]?.())?.(program, finish, further, commandTree);
  return program;
}

/** Help and the version end the parser too; everything else was wrong usage. */
function refuse(error: CommanderError, words: readonly string[], program: Command): number {
  if (error.exitCode === 0) return EXIT.ok;
  const { message, remedy } = describeMisuse(error, commandOf(program, words));
  return reportFailure(invalidInput(message, remedy), words.includes("--json"));
}
