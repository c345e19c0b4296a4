import type { CellOutput } from "../../notebook/cell.js";
import {
  bytesOf,
  errorText,
  type NotebookContent,
  wholeText,
} from "../../notebook/interchange/notebook-content.js";

export interface MainContent {
  readonly mime: string;
  readonly text?: string;
  readonly bytes?: Buffer;
}

type Source = Pick<NotebookContent, "cells" | "resource">;

const MIME_TYPES = {
  TEXT: "text/plain",
  ERROR: "text/plain",
  HTML: "text/html",
  JSON: "application/json",
  MARKDOWN: "text/markdown",
  LATEX: "text/latex",
  SVG: "image/svg+xml",
} as const;

export function mimeOf(output: CellOutput): string {
  if (output.type === "IMAGE") return output.mime;
  if (output.type !== "DATAFRAME") return MIME_TYPES[output.type];
  return output.html === undefined ? "text/plain" : "text/html";
}

/** The whole of it, also where the cell has only its start. */
export async function mainOf(output: CellOutput, content: Source): Promise<MainContent> {
  const mime = mimeOf(output);
  switch (output.type) {
    case "IMAGE":
      return { mime, bytes: await bytesOf(output.uri, content) };
    case "ERROR":
      return { mime, text: await wordsOf(output, content) };
    default:
      return { mime, text: await wholeText(inlineOf(output), output, content) };
  }
}

/** The whole as plain text. */
export async function wordsOf(output: CellOutput, content: Source): Promise<string> {
  switch (output.type) {
    case "ERROR":
      return errorText(output);
    case "TEXT":
    case "MARKDOWN":
    case "LATEX":
    case "JSON":
      return await wholeText(inlineOf(output), output, content);
    case "IMAGE":
    case "HTML":
    case "SVG":
    case "DATAFRAME":
      return output.text;
  }
}

/** Without reading the store. */
export function sizeOf(
  output: CellOutput,
  resources: readonly { uri: string; blob: { bytes: number } }[],
): number {
  const uri = output.type === "ERROR" ? undefined : output.uri;
  const kept = resources.find((one) => one.uri === uri);
  if (kept !== undefined) return kept.blob.bytes;
  return Buffer.byteLength(inlineOf(output));
}

function inlineOf(output: CellOutput): string {
  switch (output.type) {
    case "TEXT":
    case "IMAGE":
      return output.text;
    case "ERROR":
      return output.traceback;
    case "HTML":
      return output.html;
    case "DATAFRAME":
      return output.html ?? output.text;
    case "JSON":
      return JSON.stringify(output.json) ?? "null";
    case "MARKDOWN":
      return output.markdown;
    case "LATEX":
      return output.latex;
    case "SVG":
      return output.svg;
  }
}
