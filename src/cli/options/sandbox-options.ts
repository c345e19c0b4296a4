import { type Command, InvalidArgumentError, Option } from "commander";
import type { Mount } from "../../backends/backend.js";
import {
  callerVariable,
  LEAST_MEMORY_MB,
  LONGEST_OUTPUT,
  LONGEST_TIMEOUT_MS,
  machineMemoryMb,
} from "../../config/environment.js";
import {
  DURATION_EXAMPLES,
  readDuration,
  readMegabytes,
  SIZE_EXAMPLES,
} from "../../config/units.js";
import { ISOLATION_LEVELS } from "../../isolation/levels.js";
import { invalidInput } from "../terminal/report-error.js";
import { BACKENDS, POLICIES } from "./sandbox-config.js";

export function addSandboxOptions(
  command: Command,
  preloadNote: string,
  { timeout = "30s", backends = "shown" }: { timeout?: string; backends?: "shown" | "hidden" } = {},
): Command {
  return command
    .addOption(
      new Option("--backend <name>", "where to run it (default: auto)")
        .choices(BACKENDS)
        // Notebooks run on one only.
        .hideHelp(backends === "hidden"),
    )
    .option(
      "--timeout <time>",
      `time limit of a cell, as 500ms, 5s, 2m; a bare number is seconds (default: ${timeout})`,
      parseSeconds,
    )
    .option("--python <path>", "a python binary or a venv folder")
    .option(
      "--memory <size>",
      "memory limit of the session, as 512MB, 2GB; a bare number is MB (default: 1024MB)",
      parseMemory,
    )
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
      parseCount(0, LONGEST_OUTPUT),
    )
    .addOption(
      new Option("--policy <name>", "what cells may contain (default: off)").choices(POLICIES),
    );
}

/** Milliseconds, of what is seconds where no unit says otherwise. */
export function parseSeconds(text: string): number {
  const time = readDuration(text, "s");
  if (time === undefined || time.value === 0) {
    throw new InvalidArgumentError(
      `Write ${DURATION_EXAMPLES}; a number without a unit is in seconds.`,
    );
  }
  if (time.value > LONGEST_TIMEOUT_MS) {
    const hours = Math.floor(LONGEST_TIMEOUT_MS / 3_600_000);
    throw new InvalidArgumentError(`The longest time is ${hours}h.`);
  }
  return Math.max(1, Math.round(time.value));
}

/** MB, as many as a session can do something with and this machine has. */
function parseMemory(text: string): number {
  const size = readMegabytes(text);
  if (size === undefined) {
    throw new InvalidArgumentError(`Write ${SIZE_EXAMPLES}; a number without a unit is in MB.`);
  }
  if (size.value < LEAST_MEMORY_MB) {
    const told = `It is ${size.value} MB, and a session needs at least ${LEAST_MEMORY_MB} MB.`;
    throw new InvalidArgumentError(told);
  }
  const most = machineMemoryMb();
  if (size.value > most) {
    throw new InvalidArgumentError(`It is ${size.value} MB, and this machine has ${most} MB.`);
  }
  return size.value;
}

export function parseCount(
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`;
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It is not a whole number from ${range}.`);
    }
    return value;
  };
}

export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
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
  if (value === undefined) {
    const remedy = `set ${name} in your environment, or write --env ${name}=VALUE`;
    throw invalidInput(`--env ${name}: ${name} is not set here`, remedy);
  }
  return { ...before, [name]: value };
}
