import { z } from "zod";
import type { Settings } from "../config.js";
import { CellarError } from "../errors.js";
import { type Cell, cellName } from "../notebook/cell.js";
import type { Notebook } from "../notebook/notebook.js";
import { anySession, cellKey, textLimit, textOffset } from "./arguments.js";
import { findCell, outputOf } from "./resource-reading.js";
import type { NotebookService } from "./service/notebook-service.js";
import { type Tool, type ToolAnswer, textAnswer } from "./tool.js";
import { answerOf, hasFailed } from "./view/cell-answer.js";
import { figure, pageOf } from "./view/excerpt.js";
import { wordsOf } from "./view/output-content.js";
import { answered, cellViewSchema, pageSchema } from "./view/shapes.js";

const UNDEFINED = /^name '([^']{1,200})' is not defined/;

const ranSchema = z.strictObject({ ...answered, cell: cellViewSchema });
type Ran = z.infer<typeof ranSchema>;

const executeInput = z.strictObject({
  code: z
    .string()
    .max(1_000_000)
    .describe(
      "Python. The value of the last expression is shown, as in Jupyter, up to 50,000 characters of it; print what is longer.",
    ),
  session: anySession,
});

export const executeCell: Tool<typeof executeInput, typeof ranSchema> = {
  name: "execute_cell",
  title: "Run Python",
  description:
    "Runs Python in a notebook, as a new cell. Variables, imports and files stay for later cells. " +
    "Returns what was printed, the value of the last expression, images, tables, and files that changed. " +
    "Long outputs are shortened, with a URI for the whole. " +
    "On an error you get the traceback and hints: earlier variables are still there, so fix the code and run only that. " +
    "A cell that exceeds the time limit is stopped, with its variables kept where possible.",
  input: executeInput,
  output: ranSchema,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  run: (service, { code, session }, { signal, onText }) =>
    runIn(service, service.sessionToUse(session), true, (notebook) =>
      notebook.run(code, { signal, onText }),
    ),
};

const rerunInput = z.strictObject({ session: anySession, cell: cellKey });

export const rerunCell: Tool<typeof rerunInput, typeof ranSchema> = {
  name: "rerun_cell",
  title: "Run a cell again",
  description:
    "Runs a cell of the notebook again, with the variables as they are now. Its earlier outputs are replaced, and it gets the number of the new run. " +
    "To change the code, use execute_cell instead. Returns the same as execute_cell and costs as much. " +
    "If there is no such cell, show_notebook lists them.",
  input: rerunInput,
  output: ranSchema,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  run: (service, { session, cell }, { signal, onText }) =>
    runIn(service, service.sessionToFind(session), false, (notebook) =>
      notebook.rerun(findCell(notebook.cells, cell).id, { signal, onText }),
    ),
};

async function runIn(
  service: NotebookService,
  session: string,
  create: boolean,
  run: (notebook: Notebook) => Promise<Cell>,
): Promise<ToolAnswer<Ran>> {
  const work = async (notebook: Notebook) => {
    const cell = await run(notebook);
    if (cell.state !== "CANCELLED" || cell.number !== null) {
      return await ranAnswer(service, session, notebook, cell);
    }
    // Cancelled while it waited for another cell: nothing of it stays.
    await notebook.delete(cell);
    throw new CellarError("ABORTED", "the call was cancelled before its cell ran");
  };
  const answer = await service.use(session, work, { create });
  service.tell({ session, kind: "cells" });
  if (answer.structured.cell.files !== undefined) service.tell({ session, kind: "files" });
  return answer;
}

async function ranAnswer(
  service: NotebookService,
  session: string,
  notebook: Notebook,
  cell: Cell,
): Promise<ToolAnswer<Ran>> {
  const isolation = notebook.info.isolation.level;
  const { view, parts } = await answerOf(cell, {
    session,
    isolation,
    content: { cells: notebook.cells, resource: (uri) => notebook.resource(uri) },
    cap: service.outputCap,
    files: cell.files === undefined ? undefined : (await notebook.files()).files,
    hints: [
      ...limitHints(cell, service.settings),
      ...(await elsewhereHints(service, session, cell)),
    ],
  });
  return { parts, structured: { session, isolation, cell: view }, isError: hasFailed(cell) };
}

function limitHints({ state }: Cell, { timeout }: Settings): string[] {
  if (state !== "TIMEOUT") return [];
  return [`a cell may take ${timeout / 1000} s; split the work, and write results to a file`];
}

/** A model that switches between notebooks may use a name of another one. */
async function elsewhereHints(
  service: NotebookService,
  session: string,
  { outputs }: Cell,
): Promise<string[]> {
  const error = outputs.findLast((output) => output.type === "ERROR");
  if (error?.name !== "NameError") return [];
  const [, name] = UNDEFINED.exec(error.message) ?? [];
  if (name === undefined) return [];
  const [there] = await service.sessionsWith(name, session);
  return there === undefined ? [] : [`${name} is in session ${there}: pass session=${there}`];
}

const shownSchema = z.strictObject({
  ...answered,
  cell: cellViewSchema,
  page: pageSchema.optional().describe("Where output was given: that piece of it."),
});

const showInput = z.strictObject({
  session: anySession,
  cell: cellKey,
  output: z
    .int()
    .nonnegative()
    .optional()
    .describe("The index of one output, to read its text piece by piece."),
  offset: textOffset,
  limit: textLimit,
});

export const showCell: Tool<typeof showInput, typeof shownSchema> = {
  name: "show_cell",
  title: "Show a cell",
  description:
    "Shows a cell as it is kept: code, state and outputs. Nothing is run, so it costs little. " +
    "With output (and offset, limit) it returns one piece of a long output and where the next begins. " +
    "If there is no such cell, show_notebook lists them.",
  input: showInput,
  output: shownSchema,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async (service, { session: named, cell: key, output, offset = 0, limit }) => {
    const session = service.sessionToFind(named);
    const content = await service.content(session);
    const cell = findCell(content.cells, key);
    const isolation = service.isolation.level;
    const cap = service.outputCap;
    const { view, parts } = await answerOf(cell, { session, isolation, content, cap });
    const structured = { session, isolation, cell: view };
    if (output === undefined) {
      const code = { type: "text", text: view.code } as const;
      return { parts: [code, ...parts], structured, isError: false };
    }
    const words = await wordsOf(outputOf(cell, output), content);
    const page = pageOf(words, offset, limit ?? cap);
    const end = page.offset + page.text.length;
    const rest = page.next === null ? "the end" : `next: offset=${page.next}`;
    const heading =
      `${cellName(cell)}, output ${output}: characters ${figure(page.offset)} to ${figure(end)} ` +
      `of ${figure(page.length)}, ${rest} · session ${session} · isolation ${isolation}`;
    const brief = { ...view, outputs: [], moreOutputs: cell.outputs.length };
    return textAnswer(`${heading}\n${page.text}`, { ...structured, cell: brief, page });
  },
};

const deletedSchema = z.strictObject({ ...answered, cells: z.int().nonnegative() });
const deleteInput = z.strictObject({ session: anySession, cell: cellKey });

export const deleteCell: Tool<typeof deleteInput, typeof deletedSchema> = {
  name: "delete_cell",
  title: "Delete a cell",
  description:
    "Deletes a cell and its outputs for good. What it did to the variables and files stays: use undo for variables. " +
    "The other cells keep their numbers. Returns how many are left. " +
    "If there is no such cell, show_notebook lists them.",
  input: deleteInput,
  output: deletedSchema,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  run: async (service, { session: named, cell: key }) => {
    const { session, isolation, result } = await service.useExisting(named, async (notebook) => {
      const cell = findCell(notebook.cells, key);
      await notebook.delete(cell);
      return { cell, cells: notebook.cells.length };
    });
    service.tell({ session, kind: "cells" });
    const { cell, cells } = result;
    const text = `${cellName(cell)} is deleted, ${cells} left; its effects on variables stay · session ${session} · isolation ${isolation}`;
    return textAnswer(text, { session, isolation, cells });
  },
};
