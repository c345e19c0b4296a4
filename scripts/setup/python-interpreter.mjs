import { existsSync } from "node:fs";
import { join } from "node:path";
import { findProgram, run } from "./command.mjs";

const OLDEST_PYTHON = [3, 8];
const PROBE = `
import importlib.util as u, json, platform, sys
has = lambda name: getattr(u.find_spec(name), "origin", None) is not None
print(json.dumps({"version": platform.python_version(), "numbers": sys.version_info[:2],
    "executable": sys.executable,
    "prefix": sys.base_prefix, "ensurepip": has("ensurepip"), "venv": has("venv"), "pip": has("pip")}))
`;

/** Path and version of an interpreter, or undefined if it does not run or is too old. */
export async function probePython(path) {
  const result = await run(path, ["-I", "-c", PROBE], { timeout: 20_000 });
  if (!result.ok) return undefined;
  try {
    const facts = JSON.parse(result.stdout);
    const [major, minor] = facts.numbers;
    const [wantedMajor, wantedMinor] = OLDEST_PYTHON;
    const fits = major === wantedMajor && minor >= wantedMinor;
    return fits ? { path: facts.executable || path, ...facts } : undefined;
  } catch {
    return undefined;
  }
}

/** The first interpreter that is new enough: CELLAR_PYTHON, then PATH, then the system's. */
export async function findPython({ report }) {
  const chosen = process.env.CELLAR_PYTHON;
  if (chosen !== undefined && chosen !== "") {
    const python = await probePython(insideEnvironment(chosen));
    if (python !== undefined) return python;
    report.missing(
      "python",
      `CELLAR_PYTHON=${chosen} does not run or is older than ${OLDEST_PYTHON.join(".")}`,
      "correct it or unset it; looking for another one",
    );
  }
  for (const path of [findProgram("python3"), "/usr/bin/python3", findProgram("python")]) {
    const python = path === undefined ? undefined : await probePython(path);
    if (python !== undefined) return python;
  }
  return undefined;
}

/** The interpreter of a virtual environment; any other path is one already. */
export function insideEnvironment(path) {
  const inner = [join(path, "bin", "python"), join(path, "Scripts", "python.exe")];
  return inner.find(existsSync) ?? path;
}
