import type { Notebook } from "../session/notebook.js";
import { EXIT } from "./exit-codes.js";
import { writeJson } from "./failures.js";
import { type OpenOptions, tellLosses, withNotebook } from "./notebook-opening.js";

export type ChangeOptions = OpenOptions & { readonly json?: true };

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
    if (options.json === true) writeJson({ undone, state: notebook.state });
    else write(`undone: ${undone.length === 1 ? "cell" : "cells"} ${undone.join(", ")}`);
    return EXIT.ok;
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
    const { user } = twin.info;
    if (options.json === true) writeJson({ info: twin.info, state: twin.state });
    else write(`${user}/${name} goes on from ${user}/${session}`);
    return EXIT.ok;
  });
}

function undoneIn({ cells }: Notebook): number[] {
  return cells.filter(({ isUndone }) => isUndone === true).map(({ number }) => number);
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}
