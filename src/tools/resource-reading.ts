import { CellarError } from "../errors.js";
import { type Cell, cellName } from "../notebook/cell.js";
import { cellAt, findCell as cellOf } from "../notebook/document/cell-finding.js";
import { ipynbOf } from "../notebook/interchange/ipynb.js";
import type { NotebookContent } from "../notebook/interchange/notebook-content.js";
import { type Address, addressOf, type Part, partOf } from "./addresses.js";
import type { NotebookService } from "./service/notebook-service.js";
import { answerOf } from "./view/cell-answer.js";
import { mimeOfFile, textOf } from "./view/file-kind.js";
import { mainOf, wordsOf } from "./view/output-content.js";
import { overviewOf } from "./view/overview.js";

export interface ReadResource {
  readonly uri: string;
  readonly mime: string;
  readonly text?: string;
  readonly bytes?: Buffer;
}

export const IPYNB_MIME = "application/x-ipynb+json";
/** An answer is one message, which a client holds in memory. */
const LARGEST_FILE = 32 * 1024 * 1024;
const LARGEST_IPYNB = 64 * 1024 * 1024;
const MOST_CELLS = 1_000;
const NUMBER = /^[1-9]\d{0,8}$/;
const PLACE = /^(0|[1-9]\d{0,8})$/;

export async function readAddress(service: NotebookService, uri: string): Promise<ReadResource> {
  const { whole, part } = partOf(uri);
  const content = await contentAt(service, addressOf(whole));
  return { uri, ...(part === undefined ? content : cut(content, part)) };
}

function cut(
  { mime, text, bytes }: Omit<ReadResource, "uri">,
  { offset, length }: Part,
): Omit<ReadResource, "uri"> {
  const end = offset + length;
  if (text !== undefined) return { mime, text: text.slice(offset, end) };
  return { mime, ...(bytes !== undefined && { bytes: bytes.subarray(offset, end) }) };
}

async function contentAt(
  service: NotebookService,
  address: Address,
): Promise<Omit<ReadResource, "uri">> {
  const { session } = address;
  switch (address.kind) {
    case "notebook": {
      const { cells } = await service.content(session);
      const { text } = overviewOf(cells, { offset: 0, limit: MOST_CELLS });
      return { mime: "text/plain", text };
    }
    case "ipynb":
      return { mime: IPYNB_MIME, text: await exportOf(service, session) };
    case "cell": {
      const content = await service.content(session);
      return { mime: "text/plain", text: await cellText(service, session, content, address.cell) };
    }
    case "output": {
      const content = await service.content(session);
      const output = outputOf(addressedCell(content.cells, address.cell), address.output);
      if (!address.isText) return await mainOf(output, content);
      return { mime: "text/plain", text: await wordsOf(output, content) };
    }
    case "file": {
      const { path } = address;
      return await service.readFile(session, { path, maxBytes: LARGEST_FILE }, ({ bytes }) => {
        const text = textOf(bytes);
        const mime = mimeOfFile(path, text !== undefined);
        return text === undefined || mime.startsWith("image/") ? { mime, bytes } : { mime, text };
      });
    }
  }
}

/** Models also give numbers as strings. */
export function findCell(cells: readonly Cell[], key: number | string): Cell {
  const isNumber = typeof key === "string" && NUMBER.test(key);
  return cellOf(cells, isNumber ? Number(key) : key);
}

/** By id or index. */
function addressedCell(cells: readonly Cell[], key: string): Cell {
  return PLACE.test(key) ? cellAt(cells, Number(key)) : cellOf(cells, key);
}

export function outputOf(cell: Cell, index: number): Cell["outputs"][number] {
  const { outputs } = cell;
  const output = outputs[index];
  if (output !== undefined) return output;
  const range = outputs.length === 0 ? "It has none." : `It has 0 to ${outputs.length - 1}.`;
  throw new CellarError("NOT_FOUND", `${cellName(cell)} has no output ${index}`, { remedy: range });
}

export async function exportOf(service: NotebookService, session: string): Promise<string> {
  const content = await service.content(session);
  const bytes = content.cells
    .flatMap(({ resources }) => resources)
    .reduce((sum, { blob }) => sum + blob.bytes, 0);
  if (bytes > LARGEST_IPYNB) {
    const problem = `its outputs have ${bytes} bytes, more than ${LARGEST_IPYNB}`;
    throw new CellarError("TOO_LARGE", `the notebook cannot be sent as one file: ${problem}`, {
      remedy: "Delete cells with large outputs, or have a person run `cellar notebook export`.",
    });
  }
  return await ipynbOf(content);
}

async function cellText(
  service: NotebookService,
  session: string,
  content: NotebookContent,
  key: string,
): Promise<string> {
  const cell = addressedCell(content.cells, key);
  const isolation = service.isolation.level;
  const { parts } = await answerOf(cell, { session, isolation, content, cap: service.outputCap });
  const [first] = parts;
  const told = first?.type === "text" ? first.text : "";
  return `${cell.code.trimEnd()}\n\n${told}`;
}
