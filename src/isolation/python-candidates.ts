import { existsSync, lstatSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { executablesOn } from "./layout.js";

export interface InterpreterCandidate {
  path: string;
  /** Why it is looked at, in words for a person. */
  reason: string;
  /** Where it is an environment with packages that no other one can stand in for. */
  environment?: { readonly folder: string; readonly remedy: string } | undefined;
  /** It was named, so that no other will do. */
  isConfigured?: true;
}

/** Where an interpreter is looked for. */
export interface PythonPlaces {
  readonly packageRoot: string;
  /** The folder of the environment that `cellar install` makes. */
  readonly environment: string;
  readonly path: string;
}

/** Where an environment keeps its interpreter, and how that is called. */
const [BIN, SUFFIX] = process.platform === "win32" ? ["Scripts", ".exe"] : ["bin", ""];

/** The configured one alone, else an environment of Cellar's own alone, else the search path. */
export function interpreterCandidates(
  places: PythonPlaces & { readonly configured?: string | undefined },
): InterpreterCandidate[] {
  if (places.configured !== undefined) {
    const path = resolve(places.configured);
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    const found = {
      path: isFolder ? pythonOf(path) : path,
      reason: "configured",
      isConfigured: true as const,
    };
    if (!isFolder || !isThere(path)) return [found];
    const remedy = `Run python3 -m venv --upgrade "${path}" and install its packages again, or name another with the option \`python\`.`;
    return [{ ...found, environment: { folder: path, remedy } }];
  }
  const own = ownEnvironment(places);
  return own === undefined ? pathCandidates(places.path) : [own];
}

/** The system's, or those of an environment that is active. */
export function pathCandidates(path: string): InterpreterCandidate[] {
  const found = ["python3", "python"].flatMap((name) =>
    executablesOn(path, `${name}${SUFFIX}`).map((one) => ({
      path: one,
      reason: `${name} on the PATH`,
    })),
  );
  return found.filter(
    (one, index) => found.findIndex(({ path: same }) => same === one.path) === index,
  );
}

/** What is not packed: there `npm run setup` makes the environment. */
export function isCheckout(packageRoot: string): boolean {
  return existsSync(join(packageRoot, "scripts", "setup.mjs"));
}

export function packageEnvironment(packageRoot: string): string {
  return join(packageRoot, ".venv");
}

/**
 * A checkout has its own `.venv`. An installed package has none: earlier versions put one there, which the next
 * `npm ci` deletes, so the user's comes first.
 */
function ownEnvironment({
  packageRoot,
  environment,
}: PythonPlaces): InterpreterCandidate | undefined {
  const checkout = isCheckout(packageRoot);
  const within = {
    folder: packageEnvironment(packageRoot),
    reason: "Cellar's own .venv",
    remedy: checkout ? "Run npm run setup, which makes it anew." : RECREATE,
  };
  const users = { folder: environment, reason: "made by cellar install", remedy: RECREATE };
  const own = (checkout ? [within, users] : [users, within]).find(({ folder }) => isThere(folder));
  if (own === undefined) return undefined;
  const { folder, reason, remedy } = own;
  return { path: pythonOf(folder), reason, environment: { folder, remedy } };
}

const RECREATE =
  "Run cellar install --recreate: it makes the environment anew and installs its packages again.";

/** Also when the Python that it was made with is gone. */
function isThere(environment: string): boolean {
  return (
    existsSync(join(environment, "pyvenv.cfg")) ||
    lstatSync(pythonOf(environment), { throwIfNoEntry: false }) !== undefined
  );
}

export function pythonOf(environment: string): string {
  return join(environment, BIN, `python${SUFFIX}`);
}

/** The Python that is tried first where none is configured. */
export function usualPython(places: PythonPlaces): string | undefined {
  const [first, ...others] = interpreterCandidates(places);
  if (first?.environment !== undefined) return first.path;
  return [...(first === undefined ? [] : [first]), ...others].find(({ path }) => existsSync(path))
    ?.path;
}
