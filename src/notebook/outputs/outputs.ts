import { z } from "zod";
import type { CodeExecution, ExecutionError, Output } from "../../backends/backend.js";
import { excessOf, MAX_CHECKED_VALUES } from "../../protocol/bounds.js";
import { type CellOutput, type Resource, TABLE_MIME } from "../cell.js";
import { bestImage, imageSize } from "./image.js";
import { type ResourceTarget, ResourceWriter } from "./resources.js";

/** Longer texts go to the store; the cell has their start. */
export const LONGEST_TEXT_BYTES = 256 * 1024;
export const NOT_SHOWN = "[not shown here: ";
const MAX_OTHERS = 16;
const MIME_TYPE = /^[a-z]+\/[\w.+-]{1,200}$/i;
const START_CHARACTERS = 16 * 1024;
const LONGEST_TABLE_CHARACTERS = 1024 * 1024;

const line = z.array(z.unknown()).max(1_000);

const tableSchema = z
  .object({
    columns: line,
    dtypes: z.array(z.string().max(1_000)).max(1_000),
    shape: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
    rows: z.array(line).max(1_000),
    index: line.optional(),
    index_names: line.optional(),
    truncated: z.boolean(),
  })
  .refine(
    ({ columns, dtypes, rows, index }) =>
      dtypes.length === columns.length &&
      rows.every((row) => row.length === columns.length) &&
      (index === undefined || index.length === rows.length),
  );

type Display = Pick<Extract<Output, { type: "display" }>, "data" | "binary" | "metadata">;

export interface Shown extends Display {
  readonly isResult: boolean;
}

interface Kept {
  readonly content: string;
  readonly whole: { uri?: string; length?: number };
  /** Too long for the cell, and the whole did not fit either. */
  readonly isCut?: boolean;
}

/**
 * What a cell showed, as data and in its order: text and displays as they came, then the value of
 * its last expression or its error, then what its end showed. Bytes and very long texts go to the
 * store.
 */
export async function outputsOf(
  execution: CodeExecution,
  place: ResourceTarget,
): Promise<{ outputs: CellOutput[]; resources: Resource[] }> {
  const writer = new ResourceWriter(place);
  const outputs: CellOutput[] = [];
  const add = (output: CellOutput) => {
    if (place.quota?.take(Buffer.byteLength(JSON.stringify(output))) !== false) {
      outputs.push(output);
    }
  };
  const { result, error } = execution;
  const picture = pictureOfResult(execution);
  const addResult = async () => {
    const { data, binary, metadata } = picture ?? { data: {}, binary: {}, metadata: {} };
    add(
      await shownOutput({ data: { ...data, ...result }, binary, metadata, isResult: true }, writer),
    );
  };
  const addShown = async (output: Output) => {
    if (output.type !== "display") add(await textOutput(output.type, output.text, writer));
    else if (output !== picture)
      add(await shownOutput({ ...output, isResult: output.isResult === true }, writer));
    else if (output.afterResult === true) await addResult();
  };
  for (const output of execution.outputs) if (output.afterResult !== true) await addShown(output);
  if (result !== null && picture?.afterResult !== true) await addResult();
  // Errors are short and always kept.
  if (error !== null) outputs.push(errorOutput(error));
  for (const output of execution.outputs) if (output.afterResult === true) await addShown(output);
  return { outputs, resources: writer.resources };
}

/** Images of a result come as a display of their own, with the same text as the result. */
function pictureOfResult({ result, outputs }: CodeExecution) {
  if (result === null) return undefined;
  return outputs.findLast(
    (output): output is Extract<Output, { type: "display" }> =>
      output.type === "display" &&
      output.isResult === true &&
      output.data["text/plain"] === result["text/plain"],
  );
}

export async function shownOutput(shown: Shown, writer: ResourceWriter): Promise<CellOutput> {
  const { data, isResult } = shown;
  const text = shortened(data["text/plain"] ?? "");
  const besides = (primary: string) => ({ text, isResult, ...othersOf(data, primary) });
  const table = tableOf(data[TABLE_MIME]);
  if (table !== undefined) {
    const { index_names: indexNames, index, ...rest } = table;
    const html = data["text/html"];
    const all = html === undefined ? undefined : await keep(html, "text/html", writer);
    const kept = all?.isCut ? undefined : all;
    return {
      type: "DATAFRAME",
      ...rest,
      ...(index === undefined ? {} : { index }),
      ...(indexNames === undefined ? {} : { indexNames }),
      ...(kept === undefined ? {} : { html: kept.content, ...kept.whole }),
      ...besides("text/html"),
    };
  }
  const image = bestImage(shown.binary);
  if (image !== undefined) {
    const { mime, bytes } = image;
    const uri = await writer.put("image", mime, bytes);
    const { metadata } = shown;
    if (uri === undefined) {
      const note = `[left out: ${mime}, ${bytes.length.toLocaleString("en")} bytes]`;
      const words = text === "" ? note : `${text}\n${note}`;
      return textOutput(isResult ? "result" : "display", words, writer);
    }
    return { type: "IMAGE", mime, uri, ...imageSize(mime, bytes), ...besides(mime), metadata };
  }
  for (const [mime, build] of RICH) {
    const content = data[mime];
    if (content === undefined) continue;
    const { content: start, whole, isCut } = await keep(content, mime, writer);
    // Half of a markup is useless.
    if (isCut) break;
    return { ...build(start), ...whole, ...besides(mime) };
  }
  const json = data["application/json"];
  const parsed = json === undefined ? undefined : parseJson(json);
  if (json !== undefined && parsed !== undefined) {
    const { whole, isCut } = await keep(json, "application/json", writer);
    const value = whole.uri === undefined ? parsed.value : null;
    if (!isCut) return { type: "JSON", json: value, ...whole, ...besides("application/json") };
  }
  const words = await textOutput(isResult ? "result" : "display", wordsOf(shown), writer);
  return { ...words, ...othersOf(data, "text/plain") };
}

/** Short representations for other programs. */
function othersOf(data: Display["data"], primary: string): { also?: Record<string, string> } {
  const others = Object.entries(data).filter(
    ([mime, content]) =>
      MIME_TYPE.test(mime) &&
      content !== "" &&
      mime !== primary &&
      mime !== "text/plain" &&
      !mime.startsWith("application/vnd.cellar.") &&
      Buffer.byteLength(content) <= LONGEST_TEXT_BYTES,
  );
  return others.length === 0 ? {} : { also: Object.fromEntries(others.slice(0, MAX_OTHERS)) };
}

/** In the order of preference, below tables and images and above JSON and text. */
const RICH = [
  ["image/svg+xml", (svg: string) => ({ type: "SVG", svg }) as const],
  ["text/html", (html: string) => ({ type: "HTML", html }) as const],
  ["text/latex", (latex: string) => ({ type: "LATEX", latex }) as const],
  ["text/markdown", (markdown: string) => ({ type: "MARKDOWN", markdown }) as const],
] as const;

export async function textOutput(
  stream: Extract<CellOutput, { type: "TEXT" }>["stream"],
  text: string,
  writer: ResourceWriter,
): Promise<CellOutput> {
  const { content, whole, isCut } = await keep(text, "text/plain", writer);
  if (isCut) return { type: "TEXT", stream, text: shortened(text) };
  if (whole.uri === undefined) return { type: "TEXT", stream, text };
  const left = (text.length - content.length).toLocaleString("en");
  const notice = `\n... [${left} more characters in ${whole.uri}] ...\n`;
  return { type: "TEXT", stream, text: content + notice, ...whole };
}

function errorOutput({ type, message, traceback, hint }: ExecutionError): CellOutput {
  return {
    type: "ERROR",
    name: type,
    message: shortened(message),
    traceback: shortened(traceback),
    ...(hint === undefined ? {} : { hint: shortened(hint) }),
  };
}

function tableOf(text: string | undefined): z.infer<typeof tableSchema> | undefined {
  if (text === undefined || text.length > LONGEST_TABLE_CHARACTERS) return undefined;
  return tableSchema.safeParse(parseJson(text)?.value).data;
}

/** Undefined for invalid JSON, and for more than the host should parse. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  if (excessOf(Buffer.from(text), MAX_CHECKED_VALUES) !== undefined) return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

async function keep(content: string, mime: string, writer: ResourceWriter): Promise<Kept> {
  if (Buffer.byteLength(content) <= LONGEST_TEXT_BYTES) return { content, whole: {} };
  const uri = await writer.put("text", mime, Buffer.from(content));
  const start = startOf(content, START_CHARACTERS);
  if (uri === undefined) return { content: start, whole: {}, isCut: true };
  return { content: start, whole: { uri, length: content.length } };
}

/** For texts beside a richer form and for errors: the rest is not kept. */
function shortened(text: string): string {
  if (Buffer.byteLength(text) <= LONGEST_TEXT_BYTES) return text;
  const start = startOf(text, START_CHARACTERS);
  const left = (text.length - start.length).toLocaleString("en");
  return `${start}\n... [${left} characters left out] ...\n`;
}

/** Not through the middle of a character. */
function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

function wordsOf({ data, binary }: Display): string {
  const text = data["text/plain"];
  const unusable = [...(text === undefined ? Object.keys(data) : []), ...Object.keys(binary)];
  if (unusable.length === 0) return text ?? "";
  const note = `${NOT_SHOWN}${unusable.join(", ").slice(0, 500)}]`;
  return text === undefined ? note : `${text}\n${note}`;
}
