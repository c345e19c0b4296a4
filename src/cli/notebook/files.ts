import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { WORKSPACE_FOLDER } from "../../backends/host/session-dir.js";
import { resolveSettings } from "../../config.js";
import { CellarError, isCellarError } from "../../errors.js";
import { removeNotebook } from "../../notebook/document/list.js";
import { NotebookView } from "../../notebook/document/view.js";
import { sessionDirsIn } from "../../notebook/run/session-files.js";
import { DiskStore } from "../../notebook/store/disk-store.js";
import { Workspace } from "../../notebook/workspace/workspace.js";
import { sizeText, tellWritten, type Written, writeHostFile } from "../exec/host-files.js";
import { EXIT } from "../exit-codes.js";
import { type JsonPlaceOptions, type PlaceOptions, placeOf } from "../options/notebook-place.js";
import { complain, invalidInput, present } from "../terminal/report-error.js";
import { escapeControls, isTerminal } from "../terminal/terminal.js";

export interface GetOptions extends JsonPlaceOptions {
  readonly to?: string;
  readonly force?: true;
}

export interface RemoveOptions extends JsonPlaceOptions {
  readonly yes?: true;
}

export async function listFiles(session: string, options: JsonPlaceOptions): Promise<number> {
  const workspace = await workspaceOf(session, options);
  const { files, isCut } = (await workspace?.files()) ?? { files: [], isCut: false };
  return present(options.json, { files, isCut }, () => {
    const sizes = files.map(({ kind, bytes }) => (kind === "file" ? sizeText(bytes) : kind));
    const width = Math.max(0, ...sizes.map(({ length }) => length));
    for (const [index, { path, modified }] of files.entries()) {
      const at = modified.toISOString().slice(0, 16).replace("T", " ");
      process.stdout.write(`${sizes[index]?.padStart(width)}  ${at}  ${escapeControls(path)}\n`);
    }
    if (isCut) complain("there are more files than these");
  });
}

/** Reads the files from disk, without Python and without locking the notebook. */
export async function getFiles(
  session: string,
  paths: readonly string[],
  options: GetOptions,
): Promise<number> {
  const { to = ".", force } = options;
  const targets = await targetsOf(paths, to);
  const workspace = await workspaceOf(session, options);
  const written: Written[] = [];
  for (const [at, path] of paths.entries()) {
    if (workspace === undefined) throw noFile(session, path);
    const content = await workspace.get(path).catch((error: unknown) => {
      throw isCellarError(error, "NOT_FOUND") ? noFile(session, path) : error;
    });
    const target = targets[at] ?? "";
    if (to === "-")
      process.stdout.write(isTerminal(process.stdout) ? escapeControls(String(content)) : content);
    else written.push(await writeHostFile(target, content, { force }));
  }
  return present(options.json, { wrote: written }, () => written.forEach(tellWritten));
}

async function targetsOf(paths: readonly string[], to: string): Promise<readonly string[]> {
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory() === true;
  if (isFolder) {
    const targets = paths.map((path) => join(to, basename(path)));
    const twice = targets.find((target, at) => targets.indexOf(target) !== at);
    if (twice === undefined) return targets;
    throw invalidInput(
      `two of the files would be ${twice}`,
      "Get them one by one, with --to FILE.",
    );
  }
  if (paths.length === 1 && !to.endsWith("/")) return [to];
  throw invalidInput(`${to} is not a folder`, "Create it first, or get one file at a time.");
}

function noFile(session: string, path: string): CellarError {
  return new CellarError("NOT_FOUND", `there is no file ${JSON.stringify(path)} in ${session}`, {
    remedy: `cellar notebook files ${session} lists them.`,
  });
}

async function workspaceOf(session: string, options: PlaceOptions): Promise<Workspace | undefined> {
  const { user, dir } = placeOf(options);
  const { sessionDir } = await NotebookView.read(new DiskStore(dir), { user, session });
  const path = join(sessionDirsIn(dir), sessionDir, WORKSPACE_FOLDER);
  return existsSync(path) ? new Workspace(path, resolveSettings().limits) : undefined;
}

export async function removeBook(session: string, options: RemoveOptions): Promise<number> {
  const { user, dir } = placeOf(options);
  const name = `${user}/${session}`;
  const view = await NotebookView.read(new DiskStore(dir), { user, session }).catch(
    (error: unknown) => {
      // One that cannot be read can be removed all the same.
      if (isCellarError(error, "DAMAGED")) return undefined;
      throw error;
    },
  );
  const cells = view === undefined ? "" : ` (${view.cells.length} cells)`;
  if (options.yes !== true && !(await isConfirmed(`${name}${cells}`))) {
    complain(`${name} was not removed`);
    return EXIT.failed;
  }
  await removeNotebook({ dir, user, session }).catch((error: unknown) => {
    throw isCellarError(error, "LOCKED") ? inUse(error) : error;
  });
  return present(options.json, { removed: name }, () => process.stderr.write(`removed ${name}\n`));
}

async function isConfirmed(what: string): Promise<boolean> {
  if (!isTerminal(process.stdin) || !isTerminal(process.stderr)) {
    throw invalidInput(
      `removing ${what} cannot be undone, and there is no terminal to ask for confirmation`,
      "Give --yes.",
    );
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolveNone) => prompt.once("close", () => resolveNone("")));
  try {
    const question = `remove ${what} with its variables and files, for good? [y/N] `;
    return /^y(es)?$/i.test((await Promise.race([prompt.question(question), closed])).trim());
  } finally {
    prompt.close();
  }
}

function inUse({ code, message, details }: CellarError): CellarError {
  const remedy = "Close it there, or end that process, then remove it.";
  return new CellarError(code, message, { remedy, details });
}

/** What a file of the host is called inside, by `--as` or by its own name. */
export function insideNames(files: readonly string[], as: string | undefined): readonly string[] {
  const own = (file: string) => basename(resolve(file));
  if (as === undefined) return files.map(own);
  if (as.endsWith("/")) return files.map((file) => `${as}${own(file)}`);
  if (files.length === 1) return [as];
  throw invalidInput("--as names one file, and there are several", "Let it end in / for a folder.");
}
