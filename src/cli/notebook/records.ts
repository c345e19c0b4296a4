import { readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { resolveSettings } from "../../config.js";
import { counted, describeError } from "../../errors.js";
import { nameOf } from "../../notebook/document/journal.js";
import { listNotebooks, type NotebookSummary } from "../../notebook/document/list.js";
import { NotebookView } from "../../notebook/document/view.js";
import { htmlOf } from "../../notebook/interchange/html-export.js";
import { ipynbOf } from "../../notebook/interchange/ipynb.js";
import { MAX_IPYNB_BYTES } from "../../notebook/interchange/ipynb-document.js";
import { importNotebook } from "../../notebook/interchange/notebook-import.js";
import { DiskStore } from "../../notebook/store/disk-store.js";
import { tellWritten, writeHostFile } from "../exec/host-files.js";
import { EXIT } from "../exit-codes.js";
import {
  dirOf,
  type JsonPlaceOptions,
  type PlaceOptions,
  placeOf,
} from "../options/notebook-place.js";
import { showCell } from "../terminal/cell-view.js";
import { complain, invalidInput, present } from "../terminal/report-error.js";
import type { FORMATS } from "./formats.js";

export interface ExportOptions extends PlaceOptions {
  readonly to: string;
  readonly format?: (typeof FORMATS)[number];
  readonly force?: true;
}

export async function listAll(options: JsonPlaceOptions): Promise<number> {
  const dir = dirOf(options);
  const notebooks = await listNotebooks({ dir, user: options.user });
  return present(options.json, { notebooks }, () => {
    if (notebooks.length === 0) process.stdout.write(`no notebooks in ${dir}\n`);
    const width = Math.max(0, ...notebooks.map((one) => nameOf(one).length));
    for (const one of notebooks) {
      process.stdout.write(`${nameOf(one).padEnd(width)}  ${describeNotebook(one)}\n`);
    }
  });
}

function describeNotebook({
  problem,
  cells,
  createdAt,
  owner,
  isPrivate,
}: NotebookSummary): string {
  if (problem !== undefined) return `cannot be read: ${problem}`;
  const parts = [
    counted(cells, "cell"),
    ...(createdAt === null ? [] : [`since ${createdAt.slice(0, 10)}`]),
    ...(owner === null ? [] : [`open in process ${owner.pid}`]),
    ...(isPrivate ? ["private"] : []),
  ];
  return parts.join(", ");
}

export async function showNotebook(
  session: string,
  key: number | string | undefined,
  options: JsonPlaceOptions,
): Promise<number> {
  const view = await read(session, options);
  const cells = key === undefined ? view.cells : [view.cell(key)];
  const value = key === undefined ? { ...view.id, python: view.python ?? null, cells } : cells[0];
  return present(options.json, value, () => {
    for (const [at, cell] of cells.entries()) {
      if (at > 0) process.stdout.write("\n");
      showCell(cell);
    }
  });
}

export async function exportNotebook(session: string, options: ExportOptions): Promise<number> {
  const { to, format = formatOf(to) } = options;
  const view = await read(session, options);
  const document = format === "html" ? await htmlOf(view) : await ipynbOf(view);
  if (to === "-") {
    process.stdout.write(document);
    return EXIT.ok;
  }
  tellWritten(await writeHostFile(to, document, { force: options.force }));
  if (view.cells.length === 0) complain(`${view.title} has no cells`);
  return EXIT.ok;
}

export async function importFile(
  file: string,
  session: string,
  options: JsonPlaceOptions,
): Promise<number> {
  const content = await readSmall(file);
  const { user, dir } = placeOf(options);
  const { maxCells } = resolveSettings();
  const order = { store: new DiskStore(dir), user, session, maxCells };
  const { cells, notes } = await importNotebook(content, order);
  return present(options.json, { cells, notes }, () => {
    for (const note of notes) complain(note);
    const count = counted(cells.length, "cell");
    process.stdout.write(`${user}/${session} has ${count}; none of them has run here\n`);
  });
}

async function readSmall(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size <= MAX_IPYNB_BYTES) return await readFile(file);
  } catch (error) {
    throw invalidInput(
      `${file} cannot be read: ${describeError(error)}`,
      "Give the path of a .ipynb file that you may read.",
    );
  }
  throw invalidInput(
    `${file} has more than ${MAX_IPYNB_BYTES} bytes`,
    "Clear its outputs in Jupyter, then import it again.",
  );
}

function read(session: string, options: PlaceOptions): Promise<NotebookView> {
  const { user, dir } = placeOf(options);
  return NotebookView.read(new DiskStore(dir), { user, session });
}

function formatOf(path: string): (typeof FORMATS)[number] {
  const extension = extname(path).toLowerCase();
  if (extension === ".ipynb") return "ipynb";
  if (extension === ".html" || extension === ".htm") return "html";
  const remedy = "Let the name end in .ipynb or .html, or give --format.";
  throw invalidInput(`the format of ${path} is not clear`, remedy);
}
