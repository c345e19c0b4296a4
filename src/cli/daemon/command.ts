import type { Command } from "commander";

const NOTES = `
A daemon holds a preloaded Python and a few sessions ready, so that exec and repl find one at
once. It listens at ~/.rlm/daemon.sock, for you alone, and outlives your terminal.

Exit code of status: 0 when one runs, else 1.

Examples:
  cellar daemon start
  cellar exec -c "import pandas; pandas.__version__"
  cellar daemon stop`;

const controlling = () => import("./control.js");

export function registerDaemon(program: Command, finish: (code: number) => void): void {
  const command = program
    .command("daemon")
    .description("keep Python warm between commands")
    .addHelpText("after", NOTES);
  command
    .command("start")
    .description("start one that runs until it is stopped")
    .action(async () => finish(await (await controlling()).start()));
  command
    .command("stop")
    .description("end it and every session in it")
    .action(async () => finish(await (await controlling()).stop()));
  command
    .command("status")
    .description("say whether one runs, and what it holds")
    .option("--json", "print one JSON object")
    .action(async ({ json }: { json?: true }) =>
      finish(await (await controlling()).status(json === true)),
    );
  command
    .command("run")
    .description("run it in the foreground until it is interrupted")
    .action(async () => finish(await (await controlling()).run()));
}
