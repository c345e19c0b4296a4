import { readdirSync } from "node:fs";

/** The Python files below a folder: their paths from it, with "/" on every platform. */
export function pythonFilesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".py"))
    .map((path) => path.replaceAll("\\", "/"))
    .sort();
}
