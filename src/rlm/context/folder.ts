import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CellarError } from "../../errors.js";
import { bytesOf, lookAt, problemOf, type TextFile } from "./file.js";
import { IgnoreRules } from "./ignore-rules.js";

const MOST_FILES = 20_000;
const MOST_ENTRIES = 500_000;
const MOST_RULES_BYTES = 64 * 1024;
const NAMED = 3;
const IGNORED = ".gitignore";
/** Generated, and never what a question is about. */
const GENERATED = new Set(["node_modules", "__pycache__"]);

export type Reason =
  | "hidden"
  | "ignored"
  | "made by tools"
  | "links"
  | "binary"
  | "empty"
  | "unreadable";

export interface FolderTexts {
  /** Sorted by name. */
  readonly files: readonly TextFile[];
  /** How many were left out for each reason, and the first of their names. */
  readonly leftOut: ReadonlyMap<Reason, { readonly count: number; readonly names: string[] }>;
}

interface RulesAt {
  readonly folder: string;
  readonly rules: IgnoreRules;
}

export async function textsOfFolder(
  root: string,
  { name, signal }: { readonly name: string; readonly signal?: AbortSignal | undefined },
): Promise<FolderTexts> {
  const files: TextFile[] = [];
  const leftOut = new Map<Reason, { count: number; names: string[] }>();
  let entries = 0;

  const leave = (reason: Reason, path: string, why = ""): void => {
    const others = leftOut.get(reason) ?? { count: 0, names: [] };
    leftOut.set(reason, others);
    others.count += 1;
    if (others.names.length >= NAMED) return;
    others.names.push(`${shown(path, name)}${why === "" ? "" : `: ${why}`}`);
  };

  const take = async (path: string): Promise<void> => {
    const looked = await lookAt(join(root, path));
    if ("problem" in looked) return leave("unreadable", path, looked.problem);
    if (looked.kind === "binary") return leave("binary", path);
    if (looked.bytes === 0) return leave("empty", path);
    if (files.length >= MOST_FILES) throw tooMany(name, MOST_FILES, "files");
    files.push({ ...looked, name: shown(path, name), path: join(root, path) });
  };

  const walk = async (folder: string, above: readonly RulesAt[]): Promise<void> => {
    let found: Dirent[];
    try {
      found = await readdir(join(root, folder), { withFileTypes: true });
    } catch (error) {
      if (folder === "") {
        const message = `${name || "the folder"} cannot be read: ${problemOf(error)}`;
        const remedy = "Check the path and its permissions.";
        throw new CellarError("INVALID_INPUT", message, { remedy, cause: error });
      }
      return leave("unreadable", `${folder}/`, problemOf(error));
    }
    entries += found.length;
    if (entries > MOST_ENTRIES) throw tooMany(name, MOST_ENTRIES, "entries");
    const rules = await rulesIn(root, folder);
    const chain = rules === undefined ? above : [...above, rules];
    for (const entry of found.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      signal?.throwIfAborted();
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      const isFolder = entry.isDirectory();
      const told = isFolder ? `${path}/` : path;
      if (entry.name.startsWith(".")) leave("hidden", told);
      else if (GENERATED.has(entry.name)) leave("made by tools", told);
      else if (isLeftOut(chain, path, isFolder)) leave("ignored", told);
      else if (entry.isSymbolicLink()) leave("links", told);
      else if (isFolder) await walk(path, chain);
      else await take(path);
    }
  };

  await walk("", []);
  return { files, leftOut };
}

/** The nearest .gitignore with a matching rule decides. */
function isLeftOut(chain: readonly RulesAt[], path: string, isFolder: boolean): boolean {
  for (const { folder, rules } of chain.toReversed()) {
    const seen = folder === "" ? path : path.slice(folder.length + 1);
    const said = rules.ignores(seen, isFolder);
    if (said !== undefined) return said;
  }
  return false;
}

async function rulesIn(root: string, folder: string): Promise<RulesAt | undefined> {
  const path = join(root, folder, IGNORED);
  const found = await lookAt(path);
  if ("problem" in found || found.bytes > MOST_RULES_BYTES) return undefined;
  const text = await bytesOf(path).catch(() => "");
  return { folder, rules: new IgnoreRules(text.toString()) };
}

function shown(path: string, name: string): string {
  return name === "" ? path : `${name}/${path}`;
}

function tooMany(name: string, most: number, what: string): CellarError {
  return new CellarError("TOO_LARGE", `${name || "the folder"} has more than ${most} ${what}`, {
    remedy: "Name the folders or files in it that the question is about.",
    details: { limit: most },
  });
}
