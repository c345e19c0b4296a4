import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { executablesOn } from "./layout.js";

export interface InterpreterCandidate {
  path: string;
  /** Why it is looked at, in words for a person. */
  reason: string;
}

/** Where an environment keeps its interpreter, and how that is called. */
const [BIN, SUFFIX] = process.platform === "win32" ? ["Scripts", ".exe"] : ["bin", ""];

/** Where to look: the configured one alone, else the package's own, then the search path. */
export function interpreterCandidates(places: {
  configured?: string | undefined;
  packageRoot: string;
  path: string;
}): InterpreterCandidate[] {
  if (places.configured !== undefined) {
    const path = resolve(places.configured);
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    return [{ path: isFolder ? pythonOf(path) : path, reason: "configured" }];
  }
  const found = [
    { path: pythonOf(join(places.packageRoot, ".venv")), reason: "Cellar's own .venv" },
    ...["python3", "python"].flatMap((name) =>
      executablesOn(places.path, `${name}${SUFFIX}`).map((path) => ({
        path,
        reason: `${name} on the PATH`,
      })),
    ),
  ];
  return found.filter(({ path }, index) => found.findIndex((one) => one.path === path) === index);
}

function pythonOf(environment: string): string {
  return join(environment, BIN, `python${SUFFIX}`);
}

/** The Python that is tried first where none is configured. */
export function usualPython(places: { packageRoot: string; path: string }): string | undefined {
  return interpreterCandidates(places).find(({ path }) => existsSync(path))?.path;
}
