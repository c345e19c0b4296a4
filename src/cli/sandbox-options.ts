import { type Command, InvalidArgumentError, Option } from "commander";
import type { Mount } from "../backends/backend.js";
import { callerVariable } from "../config/environment.js";
import { ISOLATION_LEVELS } from "../isolation/levels.js";
import { BACKENDS, POLICIES } from "./sandbox-config.js";

const LONGEST_SECONDS = 2_147_483;

/** The options that `exec` and `repl` share. */
export function addSandboxOptions(
  command: Command,
  preloadNote: string,
  { timeout = "30" }: { timeout?: string } = {},
): Command {
  return command
    .addOption(new Option("--backend <name>", "where to run it (default: auto)").choices(BACKENDS))
    .option("--timeout <seconds>", `time limit of a cell (default: ${timeout})`, parseSeconds)
    .option("--python <path>", "a python binary or a venv folder")
    .option("--memory <mb>", "memory limit of the session in MB (default: 1024)", parseCount(1))
    .addOption(
      new Option(
        "--min-isolation <level>",
        "the weakest isolation to accept (default: L3-)",
      ).choices(ISOLATION_LEVELS),
    )
    .option(
      "--mount <host:guest[:rw]>",
      "show a folder of the host, read-only unless :rw (repeatable)",
      collectMount,
    )
    .option(
      "--env <name[=value]>",
      "set a variable inside; without a value, pass on yours (repeatable)",
      collectVariable,
    )
    .addOption(
      new Option("--preload <set>", `modules imported ahead (default: ${preloadNote})`).choices([
        "full",
        "standard",
        "none",
      ]),
    )
    .option(
      "--max-output <n>",
      "characters kept of each of stdout and stderr (default: 50000)",
      parseCount(0),
    )
    .addOption(
      new Option("--policy <name>", "what cells may say (default: off)").choices(POLICIES),
    );
}

/** Milliseconds. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() === "" || !(seconds > 0) || seconds > LONGEST_SECONDS) {
    throw new InvalidArgumentError("It is not a number of seconds greater than 0.");
  }
  return Math.max(1, Math.round(seconds * 1000));
}

export function parseCount(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || !Number.isSafeInteger(value)) {
      throw new InvalidArgumentError(`It is not a whole number from ${least} on.`);
    }
    return value;
  };
}

function collectMount(text: string, before: readonly Mount[] = []): Mount[] {
  const [host = "", guest = "", mode = "ro", ...rest] = text.split(":");
  const known = mode === "ro" || mode === "rw";
  if (host === "" || !guest.startsWith("/") || !known || rest.length > 0) {
    throw new InvalidArgumentError(
      "Write HOST:GUEST or HOST:GUEST:rw, where GUEST begins with a slash.",
    );
  }
  return [...before, { host, guest, readonly: mode === "ro" }];
}

function collectVariable(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const at = text.indexOf("=");
  const name = at < 0 ? text : text.slice(0, at);
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new InvalidArgumentError("Write NAME=VALUE, or NAME to pass on your own value.");
  }
  const value = at < 0 ? callerVariable(name) : text.slice(at + 1);
  if (value === undefined) throw new InvalidArgumentError(`${name} is not set here.`);
  return { ...before, [name]: value };
}
