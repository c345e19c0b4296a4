import { type Cell, type CellOutput, TABLE_MIME } from "../cell.js";
import { NOT_SHOWN } from "../outputs/outputs.js";
import {
  bytesOf,
  errorText,
  type NotebookContent,
  type OutputOf,
  wholeJson,
  wholeText,
} from "./notebook-content.js";
import { proseOf } from "./prose.js";

export const ATTACHMENT = "attachment:";

type JsonObject = Readonly<Record<string, unknown>>;

/** The notebook as an `.ipynb` document, nbformat 4.5. */
export async function ipynbOf(content: NotebookContent): Promise<string> {
  const cells: JsonObject[] = [];
  const ids = new Set<string>();
  for (const cell of content.cells) {
    cells.push({ id: freeId(cell, ids), ...(await cellOf(cell, content)) });
  }
  const version = content.python === undefined ? {} : { version: content.python };
  const document = {
    cells,
    metadata: {
      kernelspec: { display_name: "Python 3", language: "python", name: "python3" },
      language_info: {
        name: "python",
        file_extension: ".py",
        mimetype: "text/x-python",
        pygments_lexer: "ipython3",
        ...version,
      },
      ...(content.title === undefined ? {} : { title: content.title }),
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

/** The format wants ids that are short, plain and no two of them alike. */
function freeId({ id, index }: Cell, taken: Set<string>): string {
  const plain = id.replace(/[^\w-]/g, "-").slice(0, 64);
  let free = plain === "" ? `cell-${index}` : plain;
  for (let count = 2; taken.has(free); count++) free = `${plain.slice(0, 56)}-${count}`;
  taken.add(free);
  return free;
}

async function cellOf(cell: Cell, content: NotebookContent): Promise<JsonObject> {
  const prose = proseOf(cell.code);
  if (prose !== undefined && cell.outputs.every(isAttachment)) {
    const attachments = await attachmentsOf(cell, content);
    return { cell_type: prose.kind, metadata: {}, source: linesOf(prose.text), ...attachments };
  }
  const outputs: JsonObject[] = [];
  for (const output of cell.outputs) {
    if (!isTold(output, cell)) outputs.push(await outputOf(output, cell, content));
  }
  return {
    cell_type: "code",
    execution_count: cell.number,
    metadata: { cellar: factsOf(cell) },
    outputs,
    source: linesOf(cell.code),
  };
}

function factsOf(cell: Cell): JsonObject {
  return {
    state: cell.state,
    createdAt: cell.createdAt,
    ...(cell.executedAt === null ? {} : { executedAt: cell.executedAt }),
    ...(cell.duration === null ? {} : { duration: cell.duration }),
    ...(cell.isUndone === true ? { undone: true } : {}),
    ...(cell.files === undefined ? {} : { files: cell.files }),
    ...(cell.omitted === undefined ? {} : { omitted: cell.omitted }),
    ...(cell.notes === undefined ? {} : { notes: cell.notes }),
  };
}

/** IPython reports wrong use of a magic on stderr only. */
function isTold(output: CellOutput, { outputs }: Cell): boolean {
  if (output.type !== "ERROR" || output.name !== "UsageError") return false;
  const told = `UsageError: ${output.message}\n`;
  return outputs.some(
    (one) => one.type === "TEXT" && one.stream === "stderr" && one.text.endsWith(told),
  );
}

function isAttachment(output: CellOutput): boolean {
  return output.type === "IMAGE" && output.text.startsWith(ATTACHMENT);
}

async function attachmentsOf({ outputs }: Cell, content: NotebookContent): Promise<JsonObject> {
  const files = new Map<string, JsonObject>();
  for (const output of outputs) {
    if (output.type !== "IMAGE") continue;
    const name = output.text.slice(ATTACHMENT.length);
    files.set(name, { [output.mime]: await base64Of(output.uri, content) });
  }
  return files.size === 0 ? {} : { attachments: Object.fromEntries(files) };
}

async function outputOf(
  output: CellOutput,
  { number: count }: Cell,
  content: NotebookContent,
): Promise<JsonObject> {
  const place = "uri" in output ? output : {};
  const whole = (text: string) => wholeText(text, place, content);
  switch (output.type) {
    case "ERROR":
      return errorOf(output);
    case "TEXT":
      return textOf(output, await whole(output.text), count);
    case "IMAGE":
      return bundled(output, count, ...(await imageOf(output, content)));
    case "DATAFRAME": {
      const html = output.html === undefined ? undefined : linesOf(await whole(output.html));
      const shown = html === undefined ? {} : { "text/html": html };
      return bundled(output, count, { ...shown, [TABLE_MIME]: tableOf(output) });
    }
    case "HTML":
      return bundled(output, count, { "text/html": linesOf(await whole(output.html)) });
    case "JSON":
      return bundled(output, count, { "application/json": await wholeJson(output, content) });
    case "MARKDOWN":
      return bundled(output, count, { "text/markdown": linesOf(await whole(output.markdown)) });
    case "LATEX":
      return bundled(output, count, { "text/latex": linesOf(await whole(output.latex)) });
    case "SVG":
      return bundled(output, count, { "image/svg+xml": linesOf(await whole(output.svg)) });
  }
}

function textOf(
  { stream, also }: OutputOf<"TEXT">,
  text: string,
  count: number | null,
): JsonObject {
  switch (stream) {
    case "stdout":
    case "stderr":
      return { output_type: "stream", name: stream, text: linesOf(text) };
    case "result":
    case "display":
      return bundled({ text: ownText(text, also), isResult: stream === "result", also }, count, {});
  }
}

/** Where the representations themselves are there, a note of them is not. */
function ownText(text: string, also: OutputOf<"TEXT">["also"]): string {
  return also !== undefined && text.startsWith(NOT_SHOWN) ? "" : text;
}

async function imageOf(
  { mime, uri, width, height, metadata }: OutputOf<"IMAGE">,
  content: NotebookContent,
): Promise<[JsonObject, JsonObject]> {
  const data = { [mime]: await base64Of(uri, content) };
  const isSized = width !== undefined && height !== undefined;
  return [data, { ...(isSized ? { [mime]: { width, height } } : {}), ...metadata }];
}

/** As the runner describes tables, so that the import reads both alike. */
function tableOf(output: OutputOf<"DATAFRAME">): JsonObject {
  const { columns, dtypes, shape, rows, index, indexNames, truncated = false } = output;
  return { columns, dtypes, shape, rows, index, index_names: indexNames, truncated };
}

function bundled(
  { text, isResult, also }: Pick<OutputOf<"HTML">, "text" | "isResult" | "also">,
  count: number | null,
  shown: JsonObject,
  metadata: JsonObject = {},
): JsonObject {
  const data = { ...othersOf(also), ...shown };
  const plain = text === "" && Object.keys(data).length > 0 ? {} : { "text/plain": linesOf(text) };
  const bundle = { data: { ...data, ...plain }, metadata };
  return isResult
    ? { output_type: "execute_result", execution_count: count, ...bundle }
    : { output_type: "display_data", ...bundle };
}

function othersOf(also: Readonly<Record<string, string>> = {}): JsonObject {
  const others = Object.entries(also).map(([mime, content]): [string, unknown] => {
    if (!/^application\/(.*\+)?json$/.test(mime)) return [mime, linesOf(content)];
    try {
      return [mime, JSON.parse(content)];
    } catch {
      return [mime, linesOf(content)];
    }
  });
  return Object.fromEntries(others);
}

/** Jupyter shows only the traceback, so the hint goes there too. */
function errorOf(output: OutputOf<"ERROR">): JsonObject {
  const { name, message, hint } = output;
  const lines = errorText(output).split("\n");
  const traceback = hint === undefined ? lines : [...lines, `hint: ${hint}`];
  return { output_type: "error", ename: name, evalue: message, traceback };
}

async function base64Of(uri: string, content: NotebookContent): Promise<string> {
  return (await bytesOf(uri, content)).toString("base64");
}

/** Lines that keep their ends, as the format likes long text. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}
