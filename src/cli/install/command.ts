import type { Command } from "commander";
import { parseSeconds } from "../options/sandbox-options.js";
import type { InstallOptions } from "./install.js";

const NOTES = `
Without names it lists what is installed.
Names may carry extras and versions: "pandas", "polars[pandas]", "numpy>=1.26,<3".
Only wheels are installed: building from source would run a package's code outside the sandbox.
Packages go into an environment of yours that all projects share, and that npm does not touch; a
venv that --python or the setting python names is used instead.

Examples:
  cellar install requests
  cellar install --python ./venv "numpy<3" pandas`;

const installing = () => import("./install.js");

export function registerInstall(program: Command, finish: (code: number) => void): void {
  program
    .command("install")
    .description("add Python packages to the environment of the sessions")
    .argument("[names...]", "packages of the index, with versions if you like")
    .option("--json", "print one JSON object")
    .option("--python <path>", "a python binary in a venv, or a venv folder")
    .option("--recreate", "create the environment again, with its packages")
    .option(
      "--timeout <time>",
      "how long pip may take, as 90s, 10m; a bare number is seconds (default: 30m)",
      parseSeconds,
    )
    .addHelpText("after", NOTES)
    .action(async (names: string[], options: InstallOptions) =>
      finish(await (await installing()).install(names, options)),
    );
}
