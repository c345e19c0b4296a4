import { stat } from "node:fs/promises";
import type { Notebook } from "../../notebook/notebook.js";
import { sizeText } from "../exec/host-files.js";
import { invalidInput, present } from "../terminal/report-error.js";
import { insideNames } from "./files.js";
import { type OpenOptions, tellLosses, withNotebook } from "./opening.js";

export type ChangeOptions = OpenOptions & { readonly json?: true };
export type PutOptions = ChangeOptions & { readonly as?: string };

export async function undoCells(
  session: string,
  count: number,
  options: ChangeOptions,
): Promise<number> {
  return await withNotebook(session, { ...options, create: false }, async (notebook) => {
    tellLosses(notebook);
    const before = new Set(undoneIn(notebook));
    await notebook.undo(count);
    const undone = undoneIn(notebook).filter((number) => !before.has(number));
    return present(options.json, { undone, state: notebook.state }, () =>
      process.stdout.write(
        `undone: ${undone.length === 1 ? "cell" : "cells"} ${undone.join(", ")}\n`,
      ),
    );
  });
}

export async function forkNotebook(
  session: string,
  name: string,
  options: ChangeOptions,
): Promise<number> {
  return await withNotebook(session, { ...options, create: false }, async (notebook) => {
    tellLosses(notebook);
    await using twin = await notebook.fork(name);
    const { info, state } = twin;
    return present(options.json, { info, state }, () =>
      process.stdout.write(`${info.user}/${name} continues from ${info.user}/${session}\n`),
    );
  });
}

export async function putFiles(
  session: string,
  files: readonly string[],
  options: PutOptions,
): Promise<number> {
  const names = insideNames(files, options.as);
  const sizes = await Promise.all(files.map(sizeOf));
  return await withNotebook(session, options, async (notebook) => {
    const put: { path: string; bytes: number }[] = [];
    for (const [at, file] of files.entries()) {
      const path = names[at] ?? "";
      await notebook.putFile(path, { file });
      put.push({ path, bytes: sizes[at] ?? 0 });
    }
    return present(options.json, { put }, () => {
      for (const { path, bytes } of put)
        process.stderr.write(`put ${path} (${sizeText(bytes)}) into ${session}\n`);
    });
  });
}

/** Looked at before Python is started for it. */
async function sizeOf(file: string): Promise<number> {
  const stats = await stat(file).catch(() => undefined);
  if (stats?.isFile() === true) return stats.size;
  throw invalidInput(
    stats === undefined ? `there is no file ${file}` : `${file} is not a file`,
    "Name files of this machine.",
  );
}

function undoneIn({ cells }: Notebook): number[] {
  return cells.filter(({ isUndone }) => isUndone === true).flatMap(({ number }) => number ?? []);
}
