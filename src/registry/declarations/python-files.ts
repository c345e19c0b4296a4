import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describeError } from "../../errors.js";
import type { NamedImplementation } from "./declarations.js";
import type { Problem } from "./document.js";

const MAX_FILES = 64;
const MAX_FILE_BYTES = 1024 * 1024;

/** The texts of Python files by module: `maths` for `maths.py`. */
export type PythonFiles = ReadonlyMap<string, string>;

export interface ReadPythonFiles {
  readonly files: PythonFiles;
  readonly problems: readonly Problem[];
}

/** The files that the tools name, and those beside them that these import with `from .other import …`. */
export async function readPythonFiles(
  path: string,
  implementations: readonly NamedImplementation[],
): Promise<ReadPythonFiles> {
  const folder = dirname(path);
  const files = new Map<string, string>();
  const problems: Problem[] = [];
  const read = async (module: string, line: number): Promise<void> => {
    if (files.has(module) || files.size >= MAX_FILES) return;
    const text = await readBounded(join(folder, `${module}.py`));
    if (typeof text !== "string") {
      problems.push({ line, text: `implementation.file ${module}.py ${text.cause}` });
      return;
    }
    files.set(module, text);
    for (const other of siblingsIn(text)) await read(other, line);
  };
  const failed = new Set<string>();
  for (const { name: tool, implementation, line } of implementations) {
    if (implementation.type !== "python") continue;
    const module = moduleOf(implementation.file);
    if (!failed.has(module)) await read(module, line);
    const text = files.get(module);
    if (text === undefined) failed.add(module);
    else if (!defines(text, implementation.function)) {
      const { file, function: name } = implementation;
      const problem = `tools.${tool}.implementation.function: ${file} has no function ${name}`;
      problems.push({ line, text: problem });
    }
  }
  return { files, problems };
}

export function moduleOf(file: string): string {
  return file.replace(/\.py$/, "");
}

async function readBounded(path: string): Promise<string | { readonly cause: string }> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) return { cause: `is larger than ${MAX_FILE_BYTES} bytes` };
    return await readFile(path, "utf8");
  } catch (error) {
    return { cause: `cannot be read: ${describeError(error)}` };
  }
}

function siblingsIn(text: string): string[] {
  return [...text.matchAll(/^\s*from\s+\.(\w*)\s+import\s+([^#\n]+)/gm)].flatMap(
    ([, module = "", names = ""]) =>
      module !== ""
        ? [module]
        : [...names.matchAll(/(\w+)(?:\s+as\s+\w+)?/g)].map(([, name = ""]) => name),
  );
}

function defines(text: string, name: string): boolean {
  return new RegExp(
    `^(?:def\\s+${name}\\s*\\(|${name}\\s*=|from\\s.+\\bimport\\b.*\\b${name}\\b)`,
    "m",
  ).test(text);
}
