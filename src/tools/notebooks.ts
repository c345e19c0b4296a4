import { z } from "zod";
import { CellarError, counted } from "../errors.js";
import { uriOf } from "./addresses.js";
import { anySession, namedSession } from "./arguments.js";
import { exportOf, IPYNB_MIME } from "./resource-reading.js";
import { type Tool, type ToolPart, textAnswer } from "./tool.js";
import { cut } from "./view/cell-view.js";
import { figure } from "./view/excerpt.js";
import { overviewOf } from "./view/overview.js";
import { answered, cellViewSchema } from "./view/shapes.js";
import { stateNotes } from "./view/state-notes.js";

const count = z.int().nonnegative();
const MOST_LISTED = 100;
const LONGEST_NOTE = 1_000;

const createInput = z.strictObject({
  session: anySession.describe("A name for it: letters, digits and . _ - @. Default: a new name."),
});
const createdSchema = z.strictObject({ ...answered, python: z.string() });

export const createNotebook: Tool<typeof createInput, typeof createdSchema> = {
  name: "create_notebook",
  title: "Make a notebook",
  description:
    "Creates an empty notebook and returns its session name. Not needed before execute_cell, which creates one itself; " +
    "use it to choose the name. Fails if the name is taken: pass that name to continue there, or choose another.",
  input: createInput,
  output: createdSchema,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  run: async (service, { session: named }) => {
    const session = service.sessionToMake(named);
    if (await service.has(session)) {
      throw new CellarError("CONFLICT", `there is a notebook ${session} already`, {
        remedy: `Pass session=${session} to continue in it, or choose another name.`,
      });
    }
    const { python, isolation } = await service.use(session, async ({ info }) => info);
    const { level } = isolation;
    const text = `notebook ${session} is ready, pass session=${session} to work in it: Python ${python.version} · isolation ${level}`;
    return textAnswer(text, { session, isolation: level, python: python.version });
  },
};

const listInput = z.strictObject({
  offset: count.optional().describe("How many to skip. Default: 0."),
});
const listSchema = z.strictObject({
  isolation: answered.isolation,
  notebooks: z.array(
    z.strictObject({
      session: z.string(),
      cells: count,
      createdAt: z.string().nullable(),
      lastUsedAt: z.string().nullable(),
      bytes: count.describe("What its cells and variables take on the disk; without its files."),
      isPrivate: z.boolean(),
      isOpen: z.boolean().describe("Whether some process has it open now."),
      problem: z.string().optional(),
      uri: z.string(),
    }),
  ),
  more: count.describe("Notebooks after these."),
});

export const listNotebooks: Tool<typeof listInput, typeof listSchema> = {
  name: "list_notebooks",
  title: "List notebooks",
  description:
    "Lists the notebooks there are: how many cells each has, how large it is, when it was last used, whether it is open. Opens none of them, so it is cheap. " +
    `Returns at most ${MOST_LISTED}, and how many more there are.`,
  input: listInput,
  output: listSchema,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async (service, { offset = 0 }) => {
    const all = await service.list();
    const notebooks = all.slice(offset, offset + MOST_LISTED).map((one) => ({
      session: one.session,
      cells: one.cells,
      createdAt: one.createdAt,
      lastUsedAt: one.lastUsedAt,
      bytes: one.bytes,
      isPrivate: one.isPrivate,
      isOpen: one.owner !== null,
      ...(one.problem !== undefined && { problem: cut(one.problem, LONGEST_NOTE) }),
      uri: uriOf({ kind: "notebook", session: one.session }),
    }));
    const more = Math.max(0, all.length - offset - notebooks.length);
    const lines = notebooks.map(({ session, cells, bytes, lastUsedAt, ...one }) => {
      const { isPrivate, isOpen, problem } = one;
      const marks = [
        `${figure(bytes)} bytes`,
        ...(lastUsedAt === null ? [] : [`last used ${lastUsedAt.slice(0, 16)}Z`]),
        ...(isPrivate ? ["private"] : []),
        ...(isOpen ? ["open"] : []),
      ];
      const damage = problem === undefined ? [] : [`cannot be read: ${problem}`];
      return [session, counted(cells, "cell"), ...marks, ...damage].join(" · ");
    });
    if (more > 0) lines.push(`[${figure(more)} more: offset=${offset + notebooks.length}]`);
    const { level } = service.isolation;
    const heading = `${counted(all.length, "notebook")} · isolation ${level}`;
    return textAnswer([heading, ...lines].join("\n"), { isolation: level, notebooks, more });
  },
};

const showInput = z.strictObject({
  session: anySession,
  offset: count.optional().describe("How many cells to skip. Default: 0."),
  limit: z.int().min(1).max(200).optional().describe("How many cells to show. Default: 50."),
});
const overviewSchema = z.strictObject({
  ...answered,
  cells: z.array(
    z.strictObject({
      ...cellViewSchema.pick({ id: true, number: true, state: true, code: true }).shape,
      isUndone: z.boolean(),
      shown: z.string().describe("The outputs, shortened."),
    }),
  ),
  more: count.describe("Cells after these."),
  notes: z.array(z.string()).describe("Missing variables, and warnings."),
});

export const showNotebook: Tool<typeof showInput, typeof overviewSchema> = {
  name: "show_notebook",
  title: "Show a notebook",
  description:
    "Shows the cells of a notebook in brief: number, state, code and the start and end of the outputs. Nothing is run. " +
    "Use it to get an overview of a notebook; show_cell has the details. " +
    "If there is no such notebook, list_notebooks shows which there are.",
  input: showInput,
  output: overviewSchema,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async (service, { session: named, offset = 0, limit = 50 }) => {
    const session = service.sessionToFind(named);
    const { cells: all } = await service.content(session);
    const { cells, more, text } = overviewOf(all, { offset, limit });
    const state = await service.stateOf(session);
    const notes = state === undefined ? [] : stateNotes(state);
    const { level } = service.isolation;
    const heading = `notebook ${session} · ${counted(all.length, "cell")} · isolation ${level}`;
    const told = [heading, ...notes.map((note) => `note: ${note}`)].join("\n");
    return textAnswer(text === "" ? told : `${told}\n\n${text}`, {
      session,
      isolation: level,
      cells: [...cells],
      more,
      notes,
    });
  },
};

const clearInput = z.strictObject({ session: anySession });
const clearedSchema = z.strictObject({ ...answered, deleted: count });

export const clearNotebook: Tool<typeof clearInput, typeof clearedSchema> = {
  name: "clear_notebook",
  title: "Clear a notebook",
  description:
    "Deletes all cells and all variables of a notebook for good, to start over. Files stay. It cannot be undone: " +
    "fork_notebook first keeps a copy. Returns how many cells were deleted.",
  input: clearInput,
  output: clearedSchema,
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  run: async (service, { session: named }) => {
    const cleared = await service.useExisting(named, async (notebook) => {
      const count = notebook.cells.length;
      await notebook.clear();
      return count;
    });
    const { session, isolation, result: deleted } = cleared;
    service.tell({ session, kind: "cells" });
    const text = `${counted(deleted, "cell")} and all variables are gone, files stay · session ${session} · isolation ${isolation}`;
    return textAnswer(text, { session, isolation, deleted });
  },
};

const deleteInput = z.strictObject({
  session: namedSession,
  confirm: z.literal(true).describe("Must be true: nothing brings the notebook back."),
});
const deletedSchema = z.strictObject(answered);

export const deleteNotebook: Tool<typeof deleteInput, typeof deletedSchema> = {
  name: "delete_notebook",
  title: "Delete a notebook",
  description:
    "Deletes a notebook for good: cells, outputs, variables and files. It cannot be undone, so do it only when the user asks for it. " +
    "Takes the name of the notebook, never a default. Fails while one of its cells runs or another program has it open.",
  input: deleteInput,
  output: deletedSchema,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  run: async (service, { session }) => {
    await service.remove(session);
    const isolation = service.isolation.level;
    const text = `notebook ${session} is deleted, with its variables and files · isolation ${isolation}`;
    return textAnswer(text, { session, isolation });
  },
};

const exportInput = z.strictObject({ session: anySession });
const exportedSchema = z.strictObject({
  ...answered,
  uri: z.string(),
  mime: z.string(),
  bytes: count,
  cells: count,
});

export const exportIpynb: Tool<typeof exportInput, typeof exportedSchema> = {
  name: "export_ipynb",
  title: "Export for Jupyter",
  description:
    "Exports the notebook as an .ipynb file for Jupyter, as a resource that the client can read. " +
    "Writes nothing and runs nothing.",
  input: exportInput,
  output: exportedSchema,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  run: async (service, { session: named }) => {
    const session = service.sessionToFind(named);
    const { cells } = await service.content(session);
    const bytes = Buffer.byteLength(await exportOf(service, session));
    const isolation = service.isolation.level;
    const uri = uriOf({ kind: "ipynb", session });
    const text = `${counted(cells.length, "cell")}, ${figure(bytes)} bytes: ${uri} · session ${session} · isolation ${isolation}`;
    const link: ToolPart = {
      type: "resource",
      uri,
      name: `${session}.ipynb`,
      mime: IPYNB_MIME,
      size: bytes,
    };
    return textAnswer(
      text,
      { session, isolation, uri, mime: IPYNB_MIME, bytes, cells: cells.length },
      link,
    );
  },
};
