import type { Command } from "commander";
import { addSandboxOptions } from "../options/sandbox-options.js";
import type { ReplOptions } from "./talk.js";

const NOTES = `
At the prompt: %help, %undo, %vars, %checkpoints, %timeout, %info, %save, %quit.

Without a terminal, cells are read from stdin, separated by blank lines; once a line begins
with #%% only such lines separate them. The exit code is 1 when a cell failed.

Examples:
  cellar repl
  cellar repl --preload none --timeout 300
  cellar repl --context book.txt
  cellar repl < cells.py`;

const talking = () => import("./talk.js");

export function registerRepl(program: Command, finish: (code: number) => void): void {
  const command = program.command("repl").description("a Python prompt in a sandbox");
  addSandboxOptions(command, "full", { timeout: "30s; 600s with --context" })
    .option("--context <file>", "a text to look through, with the functions of an agent")
    .addHelpText("after", NOTES)
    .action(async (options: ReplOptions) => finish(await (await talking()).repl(options)));
}
