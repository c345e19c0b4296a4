import type { WorkspaceFile } from "../../backends/files/workspace-file.js";
import { type Cell, type CellState, cellName, type FileChanges } from "../../notebook/cell.js";
import type { NotebookContent } from "../../notebook/interchange/notebook-content.js";
import { uriOf } from "../addresses.js";
import type { ToolPart } from "../tool.js";
import { viewOf } from "./cell-view.js";
import { figure } from "./excerpt.js";
import { mimeOfPath, shownName } from "./file-kind.js";
import { mainOf, sizeOf } from "./output-content.js";
import type { CellView, OutputView } from "./shapes.js";

export interface AnswerPlace {
  readonly session: string;
  readonly isolation: string;
  readonly content: Pick<NotebookContent, "cells" | "resource">;
  readonly cap: number;
  /** The workspace now, where the cell changed files. */
  readonly files?: readonly WorkspaceFile[] | undefined;
  readonly hints?: readonly string[] | undefined;
}

const MOST_IMAGES = 8;
const LARGEST_IMAGE = 3 * 1024 * 1024;
const MOST_LINKED_FILES = 10;

export function hasFailed({ state, exitCode }: Pick<Cell, "state" | "exitCode">): boolean {
  return isFailure(state) && exitCode !== 0;
}

function isFailure(state: CellState): boolean {
  switch (state) {
    case "IDLE":
    case "RUNNING":
    case "COMPLETED":
      return false;
    case "ERROR":
    case "TIMEOUT":
    case "CANCELLED":
    case "OOM":
    case "CRASHED":
      return true;
  }
}

export async function answerOf(
  cell: Cell,
  place: AnswerPlace,
): Promise<{ readonly view: CellView; readonly parts: ToolPart[] }> {
  const plain = await viewOf(cell, place);
  const view = { ...plain, hints: [...plain.hints, ...(place.hints ?? [])] };
  const text = [headingOf(view, place), ...bodyOf(view)].join("\n");
  return {
    view,
    parts: [{ type: "text", text }, ...(await shownParts(cell, view, place))],
  };
}

export function headingOf(
  { id, number, state, duration, isUndone, exitCode }: CellView,
  { session, isolation }: Pick<AnswerPlace, "session" | "isolation">,
): string {
  return [
    cellName({ number }),
    state,
    ...(number === null ? [`id ${id}`] : []),
    ...(exitCode === undefined ? [] : [`exit code ${exitCode}`]),
    ...(isUndone === true ? ["undone"] : []),
    ...(duration === null ? [] : [`${figure(Math.round(duration))} ms`]),
    `session ${session}`,
    `isolation ${isolation}`,
  ].join(" · ");
}

export function bodyOf(view: CellView): string[] {
  const { outputs, moreOutputs, error, hints, notes, files } = view;
  const lines = outputs.map(wordsOf);
  if (moreOutputs > 0) {
    const notice = `[${moreOutputs} outputs between are not listed; show_cell with output=N shows one]`;
    lines.splice(Math.ceil(lines.length / 2), 0, notice);
  }
  if (error !== undefined) lines.push(error.traceback);
  lines.push(...hints.map((hint) => `hint: ${hint}`), ...notes.map((note) => `note: ${note}`));
  if (files !== undefined) lines.push(changesLine(files));
  return lines;
}

function wordsOf({ type, stream, text, mime, uri, width, height, table }: OutputView): string {
  const words = text.replace(/\n+$/, "");
  switch (type) {
    case "TEXT":
      return stream === "stdout" ? words : `[${stream}]\n${words}`;
    case "IMAGE": {
      const size = width === undefined || height === undefined ? "" : ` ${width}x${height}`;
      return `[${mime}${size} ${uri}]${words === "" ? "" : ` ${words}`}`;
    }
    case "DATAFRAME": {
      const [rows, columns] = table?.shape ?? [0, 0];
      return `[${stream}: table of ${figure(rows)} rows, ${figure(columns)} columns]\n${words}`;
    }
    case "HTML":
    case "SVG":
      return `[${stream}: ${mime} ${uri}]${words === "" ? "" : `\n${words}`}`;
    case "JSON":
    case "MARKDOWN":
    case "LATEX":
    case "ERROR":
      return `[${stream}: ${mime}]\n${words}`;
  }
}

function changesLine({ created, changed, deleted, omitted = 0 }: FileChanges): string {
  const lists = { created, changed, deleted };
  const named = Object.entries(lists).flatMap(([verb, paths]) => {
    const visible = paths.filter((path) => !isHidden(path));
    return visible.length === 0 ? [] : [`${verb} ${visible.map(shownName).join(", ")}`];
  });
  const hidden = Object.values(lists).flat().filter(isHidden).length;
  const left = omitted + hidden;
  return `files: ${[...named, ...(left === 0 ? [] : [`${figure(left)} not named here`])].join("; ")}`;
}

/** Caches and the like, of which libraries write many. */
function isHidden(path: string): boolean {
  return path.split("/").some((name) => name.startsWith("."));
}

async function shownParts(cell: Cell, view: CellView, place: AnswerPlace): Promise<ToolPart[]> {
  const images: ToolPart[] = [];
  const links: ToolPart[] = [];
  for (const { index, type, omitted, mime, uri } of view.outputs) {
    const output = cell.outputs[index];
    if (output === undefined) continue;
    const size = sizeOf(output, cell.resources);
    if (type === "IMAGE" && images.length < MOST_IMAGES && size <= LARGEST_IMAGE) {
      const { bytes } = await mainOf(output, place.content);
      images.push({ type: "image", mime, data: (bytes ?? Buffer.alloc(0)).toString("base64") });
    } else if (type === "IMAGE" || type === "HTML" || type === "SVG" || omitted > 0) {
      const name = `${cellName(cell)}, output ${index}`;
      links.push({ type: "resource", uri, name, mime, size });
    }
  }
  return [...images, ...links, ...fileParts(view, place)];
}

function fileParts({ files }: CellView, place: AnswerPlace): ToolPart[] {
  if (files === undefined) return [];
  const present = new Map((place.files ?? []).map((file) => [file.path, file]));
  return [...files.created, ...files.changed]
    .flatMap((path) => present.get(path) ?? [])
    .filter(({ kind, path }) => kind === "file" && !isHidden(path))
    .slice(0, MOST_LINKED_FILES)
    .map((file) => linkTo(place.session, file));
}

export function linkTo(session: string, { path, bytes }: WorkspaceFile): ToolPart {
  const uri = uriOf({ kind: "file", session, path });
  return { type: "resource", uri, name: path, mime: mimeOfPath(path), size: bytes };
}
