import type { Command } from "commander";
import type { DoctorOptions } from "./report.js";

const NOTES = `
It runs a cell, a turn of an agent and a cell of a notebook, of which nothing stays.

Exit code 0 when a cell ran and its isolation meets minIsolation, else 1. Trouble with notebooks
alone is a line with ✗, and leaves it at 0.

Examples:
  cellar doctor
  cellar doctor --json | jq .level`;

const reporting = () => import("./report.js");

export function registerDoctor(program: Command, finish: (code: number) => void): void {
  program
    .command("doctor")
    .description("check what protects you on this machine, and how to fix what does not")
    .option("--json", "print one JSON object")
    .option("--python <path>", "a python binary or a venv folder")
    .addHelpText("after", NOTES)
    .action(async (options: DoctorOptions) => finish(await (await reporting()).doctor(options)));
}
