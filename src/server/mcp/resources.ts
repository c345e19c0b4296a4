import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { isCellarError } from "../../errors.js";
import { cellName } from "../../notebook/cell.js";
import { partOf, URI_TEMPLATES, uriOf } from "../../tools/addresses.js";
import { refusalOf } from "../../tools/dispatch.js";
import type { NotebookService } from "../../tools/service/notebook-service.js";
import { LONGEST_ANSWER } from "./stdio-transport.js";
import { ISOLATION_KEY } from "./tool-calls.js";

const PAGE = 100;
/** Leaves space for the rest of the answer. */
const LARGEST_CONTENT = LONGEST_ANSWER - 10_000;
/** In characters or bytes; even escaped it fits. */
const PART_LENGTH = 1_000_000;
const CURSOR = /^(0|[1-9]\d{0,8})$/;

const TEMPLATES: Readonly<Record<keyof typeof URI_TEMPLATES, readonly [string, string]>> = {
  notebook: ["A notebook", "All its cells with what they showed, as text."],
  ipynb: ["A notebook for Jupyter", "The notebook as an .ipynb file."],
  cell: [
    "A cell",
    "Its code and outputs. A cell is named by its place in the notebook, from 0, or its id.",
  ],
  output: ["An output of a cell", "All of it, where a result shows the beginning only."],
  file: ["A file of a notebook", "A file below /workspace, by its path there."],
};

export function listTemplates(): ListResourceTemplatesResult {
  return {
    resourceTemplates: Object.entries(TEMPLATES).map(([name, [title, description]]) => ({
      name,
      title,
      description,
      uriTemplate: URI_TEMPLATES[name as keyof typeof URI_TEMPLATES],
    })),
  };
}

/** The notebooks, each followed by its cells. Does not open them. */
export async function listResources(
  service: NotebookService,
  cursor?: string,
): Promise<ListResourcesResult> {
  if (cursor !== undefined && !CURSOR.test(cursor)) {
    throw new ProtocolError(INVALID_PARAMS, "unknown cursor");
  }
  const from = Number(cursor ?? 0);
  const to = from + PAGE;
  const resources: Resource[] = [];
  let at = 0;
  for (const { session, cells, problem } of await service.list()) {
    const first = Math.max(at, from);
    const last = Math.min(at + 1 + cells, to);
    if (at === first && first < last) resources.push(notebook(session, cells, problem));
    const start = Math.max(first - at - 1, 0);
    if (start < last - at - 1) {
      resources.push(...(await cellsOf(service, session)).slice(start, last - at - 1));
    }
    at += 1 + cells;
  }
  return { resources, ...(at > to && { nextCursor: String(to) }) };
}

function notebook(session: string, cells: number, problem?: string): Resource {
  return {
    uri: uriOf({ kind: "notebook", session }),
    name: session,
    title: `The notebook ${session}`,
    description: problem ?? `${cells} ${cells === 1 ? "cell" : "cells"}`,
    mimeType: "text/plain",
  };
}

/** Empty if the notebook was deleted meanwhile. */
async function cellsOf(service: NotebookService, session: string): Promise<readonly Resource[]> {
  const { cells } = await service.content(session).catch(() => ({ cells: [] }));
  return cells.map((cell) => ({
    uri: uriOf({ kind: "cell", session, cell: String(cell.index) }),
    name: `${session}, ${cellName(cell)}`,
    mimeType: "text/plain",
  }));
}

export async function readResource(
  service: NotebookService,
  uri: string,
): Promise<ReadResourceResult> {
  try {
    const { mime, text, bytes } = await service.readResource(uri);
    const content =
      text === undefined ? { blob: (bytes ?? Buffer.alloc(0)).toString("base64") } : { text };
    const _meta = { [ISOLATION_KEY]: service.isolation.level };
    const result = { contents: [{ uri, mimeType: mime, ...content }], _meta };
    if (sizeOf(result.contents) > LARGEST_CONTENT)
      throw tooLarge(uri, (text ?? bytes)?.length ?? 0);
    return result;
  } catch (error) {
    if (!isCellarError(error)) throw error;
    const { code, message, remedy } = refusalOf(error);
    const told = remedy === undefined ? message : `${message}. ${remedy}`;
    if (code === "NOT_FOUND") throw new ResourceNotFoundError(uri, told);
    throw new ProtocolError(code === "INVALID_INPUT" ? INVALID_PARAMS : INTERNAL_ERROR, told);
  }
}

function sizeOf(contents: ReadResourceResult["contents"]): number {
  return Buffer.byteLength(JSON.stringify(contents));
}

function tooLarge(uri: string, length: number): ProtocolError {
  const { whole } = partOf(uri);
  return new ProtocolError(
    INVALID_PARAMS,
    `the resource is too long for one answer (${length}). ` +
      `Read it in parts: ${whole}?offset=0&length=${PART_LENGTH}, and so on.`,
  );
}
