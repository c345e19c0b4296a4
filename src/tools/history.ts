import { z } from "zod";
import { counted } from "../errors.js";
import type { Cell } from "../notebook/cell.js";
import type { Notebook } from "../notebook/notebook.js";
import { cellList, type NotebookCheckpoint } from "../notebook/state.js";
import { anySession } from "./arguments.js";
import { type Tool, textAnswer } from "./tool.js";
import { answered } from "./view/shapes.js";
import { stateNotes } from "./view/state-notes.js";

const count = z.int().nonnegative();

const undoInput = z.strictObject({
  session: anySession,
  count: z.int().min(1).max(1_000).optional().describe("How many runs to take back. Default: 1."),
});
const undoneSchema = z.strictObject({
  ...answered,
  undone: z.array(count).describe("The cells whose effects are gone, by number."),
  now: count
    .nullable()
    .describe(
      "The cell whose state the variables have now; null at the beginning, or where that cell was deleted or has run again.",
    ),
  points: z
    .array(z.strictObject({ cell: count.nullable(), run: count }))
    .describe("States that undo can reach, oldest first."),
});

export const undo: Tool<typeof undoInput, typeof undoneSchema> = {
  name: "undo",
  title: "Undo",
  description:
    "Undoes what the last runs did to the variables. Cells stay and are marked as undone; files stay as they are. " +
    "Returns which cells were undone and which states are left. Fails where that state is not kept, and says which counts work.",
  input: undoInput,
  output: undoneSchema,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  run: async (service, { session: named, count: runs = 1 }) => {
    const { session, isolation, result } = await service.useExisting(named, async (notebook) => {
      const before = undoneIds(notebook.cells);
      const point = await notebook.undo(runs);
      const points = await notebook.checkpoints();
      const undone = notebook.cells
        .filter(({ id, isUndone }) => isUndone === true && !before.has(id))
        .flatMap(({ number }) => number ?? []);
      return { point, points, undone };
    });
    service.tell({ session, kind: "cells" });
    const { point, undone } = result;
    const points = result.points.map(({ cell, sequence }) => ({ cell, run: sequence }));
    const done =
      undone.length === 0 ? `${counted(runs, "run")} undone` : `undone: ${cellList(undone)}`;
    const back = result.points.map(described).join(", ");
    const text =
      `${done}; the variables are as ${described(point)} · session ${session} · isolation ${isolation}\n` +
      `states undo can reach: ${back === "" ? "none" : back}`;
    return textAnswer(text, { session, isolation, undone, now: point.cell, points });
  },
};

function undoneIds(cells: readonly Cell[]): ReadonlySet<string> {
  return new Set(cells.filter(({ isUndone }) => isUndone === true).map(({ id }) => id));
}

function described({ cell, sequence }: NotebookCheckpoint): string {
  if (sequence === 0) return "at the beginning";
  return cell === null ? `after run ${sequence}` : `after cell ${cell}`;
}

const forkInput = z.strictObject({
  session: anySession.describe("The notebook to copy. Default: the one of this connection."),
  to: anySession.describe("The name of the copy. Default: a new name."),
});
const forkedSchema = z.strictObject({
  ...answered,
  from: z.string(),
  cells: count,
  notes: z.array(z.string()),
});

export const forkNotebook: Tool<typeof forkInput, typeof forkedSchema> = {
  name: "fork_notebook",
  title: "Fork a notebook",
  description:
    "Copies a notebook with its cells, variables and files, to try something without touching the original. " +
    "Returns the session of the copy: pass it to work there. Costs the time to save and copy all of it. " +
    "Variables that cannot be saved are named in the notes. Fails if the name is taken: choose another.",
  input: forkInput,
  output: forkedSchema,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  run: async (service, { session: named, to: session = service.newName() }) => {
    const copy = async (notebook: Notebook) => {
      await using fork = await notebook.fork(session);
      return { cells: fork.cells.length, notes: stateNotes(fork.state) };
    };
    const { session: from, isolation, result } = await service.useExisting(named, copy);
    const { cells, notes } = result;
    service.tell({ session, kind: "list" });
    const text = [
      `${session} continues from ${from}, with ${counted(cells, "cell")} · isolation ${isolation}`,
      ...notes.map((note) => `note: ${note}`),
    ].join("\n");
    return textAnswer(text, { session, isolation, from, cells, notes });
  },
};
