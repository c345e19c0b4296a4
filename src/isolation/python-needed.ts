import { readFileSync } from "node:fs";
import { CellarError, isCellarError } from "../errors.js";
import { remedyFor } from "./remedies.js";

/** For what Pyodide cannot do. `what` begins the sentence: "Notebooks need". */
export async function needingPython<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isCellarError(error, "PYTHON_UNSUITABLE") ? pythonNeeded(what, error) : error;
  }
}

/** Names the Python that was configured, where one was. */
function pythonNeeded(what: string, error: CellarError): CellarError {
  const { looked, named } = error.details;
  if (named !== undefined || !Array.isArray(looked)) return error;
  const places = [...looked.map(String), "python3 and python on the PATH"];
  return new CellarError(
    "PYTHON_UNSUITABLE",
    `${what} CPython 3.8 or newer, and none was found (looked at: ${places.join(", ")}). ` +
      "exec and repl run on Pyodide here",
    { remedy: remedyFor("python", osRelease()), details: error.details, cause: error },
  );
}

export function osRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return "";
  }
}
