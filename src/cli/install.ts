import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { findInterpreter } from "../backends/native/nursery.js";
import { resolveSettings, type Settings, surroundings } from "../config.js";
import { CellarError } from "../errors.js";
import type { Interpreter } from "../isolation/interpreter.js";
import { EXIT } from "./exit-codes.js";
import { invalidInput, writeJson } from "./failures.js";
import { installedVersions, installPackages, makeEnvironment } from "./python-packages.js";
import { withProgress } from "./terminal.js";

interface InstallOptions {
  readonly json?: true;
  readonly python?: string;
}

const NOTES = `
Names may carry extras and versions: "pandas", "polars[pandas]", "numpy>=1.26,<3".
Only wheels are installed: building from source would run a package's code outside the sandbox.

Examples:
  cellar install requests
  cellar install --python ./venv "numpy<3" pandas`;

/** PEP 508 names with extras and versions; no options, addresses, paths or markers. */
const REQUIREMENT =
  /^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9][\w.,\s-]*\])?(?:\s*(?:===?|~=|!=|<=?|>=?)\s*[\w.*+!-]+(?:\s*,\s*(?:===?|~=|!=|<=?|>=?)\s*[\w.*+!-]+)*)?$/;
const MOST_CHARACTERS = 200;

export function registerInstall(program: Command, finish: (code: number) => void): void {
  program
    .command("install")
    .description("add Python packages to the environment of the sessions")
    .argument("<names...>", "packages of the index, with versions if you like")
    .option("--json", "print one JSON object")
    .option("--python <path>", "a python binary in a venv, or a venv folder")
    .addHelpText("after", NOTES)
    .action(async (names: string[], options: InstallOptions) =>
      finish(await install(names, options)),
    );
}

async function install(names: readonly string[], options: InstallOptions): Promise<number> {
  for (const name of names) checkRequirement(name);
  const settings = resolveSettings(options.python === undefined ? {} : { python: options.python });
  const { interpreter, created } = await environmentFor(settings);
  await installPackages(interpreter.executable, names);
  const installed = await installedVersions(interpreter.executable, names.map(projectName));
  const { executable: python, prefix: environment } = interpreter;
  if (options.json === true) {
    writeJson({ python, environment, created, installed });
    return EXIT.ok;
  }
  for (const { name, version } of installed) {
    process.stdout.write(`${name} ${version ?? "(version unknown)"}\n`);
  }
  process.stdout.write(
    `Installed into ${environment}${created ? ", made just now" : ""}. ` +
      "New sessions see it; running ones stay as they are.\n",
  );
  return EXIT.ok;
}

export function checkRequirement(name: string): void {
  if (name.length <= MOST_CHARACTERS && REQUIREMENT.test(name)) return;
  throw invalidInput(
    `${JSON.stringify(name)} is not the name of a package`,
    'Give names with optional versions, like pandas or "numpy<3"; options and addresses are not taken.',
  );
}

function projectName(requirement: string): string {
  return /^[\w.-]+/.exec(requirement)?.[0] ?? requirement;
}

/** A venv is used as it is; for a system's Python Cellar makes its own. */
async function environmentFor(
  settings: Settings,
): Promise<{ interpreter: Interpreter; created: boolean }> {
  const interpreter = await findInterpreter(settings, surroundings());
  if (interpreter.prefix !== interpreter.basePrefix) return { interpreter, created: false };
  const { packageRoot } = surroundings();
  if (settings.python !== undefined || !isWritable(packageRoot)) {
    throw new CellarError(
      "INSTALL_FAILED",
      `${interpreter.executable} is not a virtual environment, and Cellar leaves it as it is`,
      {
        remedy:
          `Make one with ${interpreter.executable} -m venv --system-site-packages FOLDER, ` +
          "and name it with --python FOLDER here and in the setting python (CELLAR_PYTHON).",
      },
    );
  }
  const folder = join(packageRoot, ".venv");
  await withProgress(`making ${folder}…`, makeEnvironment(interpreter.executable, folder));
  return { interpreter: await findInterpreter(settings, surroundings()), created: true };
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
