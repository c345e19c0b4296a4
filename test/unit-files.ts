import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** Who imports one of these can start a process: a sandbox, a Python, a program. */
const STARTERS = /^(?:node:)?(?:child_process|cluster)$|^pyodide(?:\/|$)/;
const WORKERS = /^\s*import\s+\{[^}]*\bWorker\b[^}]*\}\s*from\s*["'](?:node:)?worker_threads["']/m;
const TYPES = /^\s*(?:import|export)\s+type\b[^;]*?\bfrom\s*["'][^"']*["'];?/gm;
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const IMPORTS =
  /^\s*(?:import|export)\b[^;"'`]*["']([^"']+)["']|^[^"'`\n]*\bimport\(\s*["']([^"']+)["']/gm;

/** Paths from the repository's root, with "/" on every platform, to their text. */
export type Sources = ReadonlyMap<string, string>;

export function testSources(root: string): Sources {
  const paths = ["src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .map((path) => posix.join(folder, path.replaceAll("\\", "/"))),
  );
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

/** The test files from which no import leads to what can start a process. */
export function unitFiles(sources: Sources): string[] {
  const imports = new Map([...sources].map(([path, text]) => [path, importsOf(path, text)]));
  const starts = (start: string): boolean => {
    const reached = new Set([start]);
    for (const path of reached) {
      const targets = imports.get(path);
      if (targets === "starts") return true;
      for (const target of targets ?? []) reached.add(target);
    }
    return false;
  };
  return [...sources.keys()]
    .filter((path) => path.endsWith(".test.ts") && !path.endsWith(".case.test.ts"))
    .filter((path) => !starts(path))
    .sort();
}

function importsOf(path: string, source: string): string[] | "starts" {
  const text = source.replace(COMMENTS, "").replace(TYPES, "");
  const names = [...text.matchAll(IMPORTS)].map(([, named, late]) => named ?? late ?? "");
  if (WORKERS.test(text) || names.some((name) => STARTERS.test(name))) return "starts";
  return names
    .filter((name) => name.startsWith("."))
    .map((name) => posix.join(posix.dirname(path), name.replace(/\.js$/, ".ts")));
}
