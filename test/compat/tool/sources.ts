import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { z } from "zod";
import { cellsOfScript, hasCode, hasMarks } from "./script-cells.js";

const MAX_BYTES = 64 * 1024 * 1024;
const SKIPPED_FOLDERS = /^(?:\.|node_modules$|__pycache__$)/;

const lines = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join(""))]);
const cellSchema = z.object({
  cell_type: z.string(),
  source: lines.optional(),
  /** nbformat 3. */
  input: lines.optional(),
});
const documentSchema = z.object({
  cells: z.array(cellSchema).optional(),
  worksheets: z.array(z.object({ cells: z.array(cellSchema) })).optional(),
});

/** A notebook that is to be run on both sides. */
export interface Source {
  readonly file: string;
  /** How it is told: from the folder that was named. */
  readonly name: string;
  /** The folder under which its results are summed. */
  readonly group: string;
  readonly cells: readonly string[];
}

export interface Found {
  readonly sources: readonly Source[];
  /** Files that could not be read, and why. */
  readonly unusable: readonly string[];
}

/** The notebooks at these paths, in the order of their names. */
export function findSources(paths: readonly string[]): Found {
  const sources: Source[] = [];
  const unusable: string[] = [];
  for (const path of paths.map((one) => resolve(one))) {
    const info = statSync(path, { throwIfNoEntry: false });
    if (info === undefined) {
      unusable.push(`${path}: there is no such file or folder`);
      continue;
    }
    const isFolder = info.isDirectory();
    const root = isFolder ? path : dirname(path);
    for (const file of isFolder ? notebooksIn(path) : [path]) {
      const name = isFolder ? join(basename(root), relative(root, file)) : basename(file);
      try {
        const group = isFolder ? dirname(name) : basename(root);
        sources.push({ file, name, group, cells: cellsOf(file) });
      } catch (error) {
        unusable.push(`${name}: ${(error as Error).message.split("\n")[0]}`);
      }
    }
  }
  return { sources, unusable };
}

/** Scripts that a neighbour imports or runs are modules, unless they have cells of their own. */
function notebooksIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const files = entries
    .filter((entry) => entry.isFile() && /\.(?:ipynb|py)$/.test(entry.name))
    .filter((entry) => statSync(join(folder, entry.name)).size <= MAX_BYTES)
    .map(({ name }) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
  const isModule = ({ name, text }: { name: string; text: string }) => {
    if (!name.endsWith(".py") || hasMarks(text)) return false;
    if (/^(?:__\w+__|conftest|setup)\.py$/.test(name)) return true;
    const stem = name.slice(0, -3).replace(/[^\w]/g, ".");
    const use = new RegExp(
      `(?:^|["\\s;])(?:import|from|%run|python3?|-m)\\s+[\\w./, ]*\\b${stem}\\b`,
      "m",
    );
    return files.some((other) => other.name !== name && use.test(other.text));
  };
  const inner = entries
    .filter((entry) => entry.isDirectory() && !SKIPPED_FOLDERS.test(entry.name))
    // A package is imported, not run.
    .filter((entry) => !existsSync(join(folder, entry.name, "__init__.py")))
    .flatMap((entry) => notebooksIn(join(folder, entry.name)));
  const own = files.filter((file) => !isModule(file)).map(({ name }) => join(folder, name));
  return [...own, ...inner];
}

export function cellsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  if (file.endsWith(".py")) return cellsOfScript(text);
  if (!file.endsWith(".ipynb")) throw new Error("neither .ipynb nor .py");
  const { cells, worksheets } = documentSchema.parse(JSON.parse(text));
  const all = cells ?? worksheets?.flatMap((sheet) => sheet.cells) ?? [];
  return all
    .filter(({ cell_type }) => cell_type === "code")
    .map(({ source, input }) => source ?? input ?? "")
    .filter(hasCode);
}
