import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { findInterpreter } from "../../backends/host/find-interpreter.js";
import { hostEnvironment } from "../../config/environment.js";
import type { Settings } from "../../config.js";
import { CellarError, describeError } from "../../errors.js";
import { type Interpreter, resolveInterpreter } from "../../isolation/interpreter.js";
import {
  isCheckout,
  packageEnvironment,
  pathCandidates,
} from "../../isolation/python-candidates.js";
import { needingPython } from "../../isolation/python-needed.js";

export const TOOLS: readonly string[] = ["pip", "setuptools", "wheel"];

export type Target =
  | { readonly kind: "there"; readonly interpreter: Interpreter }
  | {
      readonly kind: "to-make";
      readonly base: Interpreter;
      readonly folder: string;
      /** The packages of an environment that is no longer used. */
      readonly inherited: readonly string[];
      readonly from: string | undefined;
    };

/** A venv is used as it is; where Python is the system's, Cellar makes its own. */
export async function targetOf(settings: Settings): Promise<Target> {
  const here = hostEnvironment();
  const found = findInterpreter(settings, here);
  const interpreter = await needingPython("cellar install needs", found);
  const isVenv = interpreter.prefix !== interpreter.basePrefix;
  if (settings.python !== undefined) {
    if (isVenv) return { kind: "there", interpreter };
    throw systemPython(interpreter.executable);
  }
  const within = packageEnvironment(here.packageRoot);
  const isForsaken = !isCheckout(here.packageRoot) && isSame(interpreter.prefix, within);
  if (isVenv && !isForsaken) return { kind: "there", interpreter };
  if (!isForsaken) {
    const folder = ownFolder();
    return { kind: "to-make", base: interpreter, folder, inherited: [], from: undefined };
  }
  const base = await systemInterpreter();
  const inherited = requestedIn(within);
  return { kind: "to-make", base, folder: here.environment, inherited, from: within };
}

/** For --recreate, which also works when the environment's Python is gone. */
export async function targetAnew(settings: Settings): Promise<Target> {
  const { packageRoot, environment } = hostEnvironment();
  if (settings.python !== undefined) {
    throw new CellarError("INVALID_INPUT", "--recreate is for the environment that Cellar made", {
      remedy: `Make ${settings.python} again yourself, or remove the setting python.`,
    });
  }
  if (isCheckout(packageRoot) && existsSync(packageEnvironment(packageRoot))) {
    throw new CellarError("INVALID_INPUT", "in a checkout npm run setup makes the environment", {
      remedy: `Remove ${packageEnvironment(packageRoot)}, then run npm run setup.`,
    });
  }
  const base = await systemInterpreter();
  const inherited = [...new Set([environment, aside(environment)].flatMap(requestedIn))];
  return { kind: "to-make", base, folder: environment, inherited, from: environment };
}

/** Lets the work put a new one into its place; what was there comes back when that fails. */
export async function replaced<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = aside(folder);
  makeParent(folder);
  if (existsSync(folder)) {
    rmSync(before, { recursive: true, force: true });
    renameSync(folder, before);
  }
  try {
    const made = await work();
    rmSync(before, { recursive: true, force: true });
    return made;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (existsSync(before)) renameSync(before, folder);
    throw error;
  }
}

/** The lock file is beside an environment that Cellar made, since --recreate replaces the folder. */
export function lockFileOf(target: Target): string {
  const { environment } = hostEnvironment();
  if (target.kind === "there" && !isSame(target.interpreter.prefix, environment)) {
    return join(target.interpreter.prefix, ".cellar-install.lock");
  }
  makeParent(environment);
  return `${environment}.lock`;
}

/** The names that pip was asked for, which it notes beside each package; without such notes all. */
export function requestedIn(environment: string): string[] {
  const sites = listed(join(environment, "lib"))
    .filter((name) => name.startsWith("python"))
    .map((name) => join(environment, "lib", name, "site-packages"));
  const found = [...sites, join(environment, "Lib", "site-packages")].flatMap((site) =>
    listed(site)
      .filter((name) => name.endsWith(".dist-info"))
      .map((name) => ({
        name: basename(name, ".dist-info")
          .replace(/-[^-]*$/, "")
          .replaceAll("_", "-"),
        isRequested: existsSync(join(site, name, "REQUESTED")),
      })),
  );
  const packages = found.filter(({ name }) => !TOOLS.includes(name.toLowerCase()));
  const requested = packages.filter(({ isRequested }) => isRequested);
  const chosen = requested.length > 0 ? requested : packages;
  return [...new Set(chosen.map(({ name }) => name))].sort();
}

function makeParent(folder: string): void {
  try {
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CellarError("IO_ERROR", `${folder} cannot be made: ${describeError(error)}`, {
      remedy: "Make that place writable for you, or set CELLAR_HOME to a folder that is.",
      cause: error,
    });
  }
}

function systemInterpreter(): Promise<Interpreter> {
  const { path, home } = hostEnvironment();
  const environment = { HOME: home, PATH: path };
  return resolveInterpreter(pathCandidates(path), { environment });
}

/** A checkout that this user cannot write is left alone. */
function ownFolder(): string {
  const { packageRoot, environment } = hostEnvironment();
  if (!isCheckout(packageRoot)) return environment;
  try {
    accessSync(packageRoot, constants.W_OK);
    return packageEnvironment(packageRoot);
  } catch {
    return environment;
  }
}

function systemPython(executable: string): CellarError {
  return new CellarError(
    "INSTALL_FAILED",
    `${executable} is not a virtual environment, and Cellar leaves it as it is`,
    {
      remedy:
        `Make one with ${executable} -m venv --system-site-packages FOLDER, ` +
        "and name it with --python FOLDER here and in the setting python (CELLAR_PYTHON).",
    },
  );
}

function aside(folder: string): string {
  return `${folder}.previous`;
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return one === other;
  }
}
