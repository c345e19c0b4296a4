import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { CellarError } from "../errors.js";
import { remedyFor } from "./remedies.js";

/** One file of each part that a session is started from. */
const PYTHON_PARTS = [
  "python/cellar_runner/__init__.py",
  "python/cellar_runner/zygote/supervisor.py",
];
const PYODIDE_PARTS = [...PYTHON_PARTS, "dist/backends/pyodide/inside/process.js"];
const OTHER_PARTS = ["package.json"];

/** The first of Cellar's own files that is not there, or cannot be read. */
export function missingOwnFile(
  packageRoot: string,
  parts: readonly string[] = [...OTHER_PARTS, ...PYODIDE_PARTS],
): string | undefined {
  return parts.find((part) => !isReadable(join(packageRoot, part)));
}

/** Before anything else is tried: whatever is missing would be taken for a fault of the machine. */
export function requireOwnFiles(packageRoot: string, backend: "native" | "pyodide"): void {
  const parts = backend === "native" ? PYTHON_PARTS : PYODIDE_PARTS;
  const part = missingOwnFile(packageRoot, parts);
  if (part === undefined) return;
  throw new CellarError("PACKAGE_INCOMPLETE", describeMissing(packageRoot, part), {
    remedy: remedyFor("own-files"),
    details: { cause: "own-files", path: join(packageRoot, part) },
  });
}

export function describeMissing(packageRoot: string, part: string): string {
  return `Cellar's own files are not at ${packageRoot}: ${part} cannot be read`;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
