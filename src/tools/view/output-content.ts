import { errorLine } from "../../errors.js";
import type { CellOutput } from "../../notebook/cell.js";
import {
  bytesOf,
  type NotebookContent,
  wholeText,
} from "../../notebook/interchange/notebook-content.js";

/** An output in its own form: a text of some type, or bytes. */
export interface MainContent {
  readonly mime: string;
  readonly text?: string;
  readonly bytes?: Buffer;
}

type Source = Pick<NotebookContent, "cells" | "resource">;

export function mimeOf(output: CellOutput): string {
  switch (output.type) {
    case "TEXT":
    case "ERROR":
      return "text/plain";
    case "IMAGE":
      return output.mime;
    case "HTML":
      return "text/html";
    case "DATAFRAME":
      return output.html === undefined ? "text/plain" : "text/html";
    case "JSON":
      return "application/json";
    case "MARKDOWN":
      return "text/markdown";
    case "LATEX":
      return "text/latex";
    case "SVG":
      return "image/svg+xml";
  }
}

/** The whole of it, also where the cell has only its start. */
export async function mainOf(output: CellOutput, content: Source): Promise<MainContent> {
  const mime = mimeOf(output);
  switch (output.type) {
    case "TEXT":
    case "ERROR":
      return { mime, text: await wordsOf(output, content) };
    case "IMAGE":
      return { mime, bytes: await bytesOf(output.uri, content) };
    case "HTML":
      return { mime, text: await wholeText(output.html, output, content) };
    case "DATAFRAME":
      return { mime, text: await wholeText(output.html ?? output.text, output, content) };
    case "JSON":
      return { mime, text: await wholeText(jsonText(output.json), output, content) };
    case "MARKDOWN":
      return { mime, text: await wholeText(output.markdown, output, content) };
    case "LATEX":
      return { mime, text: await wholeText(output.latex, output, content) };
    case "SVG":
      return { mime, text: await wholeText(output.svg, output, content) };
  }
}

/** What a reader of text is shown of it, as a whole. */
export async function wordsOf(output: CellOutput, content: Source): Promise<string> {
  switch (output.type) {
    case "TEXT":
      return await wholeText(output.text, output, content);
    case "ERROR":
      return output.traceback.trim() === ""
        ? errorLine(output.name, output.message)
        : output.traceback.trimEnd();
    case "MARKDOWN":
    case "LATEX":
    case "JSON":
      return (await mainOf(output, content)).text ?? output.text;
    case "IMAGE":
    case "HTML":
    case "SVG":
    case "DATAFRAME":
      return output.text;
  }
}

/** Bytes of its own form, without reading what lies in the store. */
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
      return jsonText(output.json);
    case "MARKDOWN":
      return output.markdown;
    case "LATEX":
      return output.latex;
    case "SVG":
      return output.svg;
  }
}

function jsonText(json: unknown): string {
  return JSON.stringify(json) ?? "null";
}
