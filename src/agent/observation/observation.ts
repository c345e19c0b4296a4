import { stripVTControlCharacters } from "node:util";
import type { CodeExecution, Output } from "../../backends/backend.js";
import { TABLE_MIME } from "../../notebook/cell.js";
import type { AgentReport, MimeBundle } from "../../protocol/messages.js";
import { decodeValue } from "../../protocol/values.js";
import type { Renderer } from "./toon.js";

/** The value of a cell as data, where the session reports it. */
const VALUE_MIME = "application/vnd.cellar.value+json";
const SHOWN_REPLACEMENTS = 5;
const SHOWN_REFUSALS = 3;
const SHOWN_NAMES = 5;
const LONGEST_REASON = 300;
/** Shorter values read best as Python writes them. */
const SHORT_VALUE = 200;

/** What a cell printed and showed, in order, as the text that a model reads. */
export function outputText(execution: CodeExecution, renderer: Renderer): string {
  const { outputs, result, error } = execution;
  const text = joinParts([
    ...outputs.filter(({ afterResult }) => afterResult !== true).map(shownOutput),
    ...(result === null ? [] : [valueText(result, renderer)]),
    ...(error === null ? [] : [errorText(error)]),
    ...outputs.filter((output) => isLater(output, result)).map(shownOutput),
  ]);
  // Colours mean nothing to a model, and inside a secret they would hide it from redaction.
  return text.includes("\u001b") || text.includes("\u009b") ? stripVTControlCharacters(text) : text;
}

/** Output after the value or the error, except the value itself shown again. */
function isLater(output: Output, result: MimeBundle | null): boolean {
  if (output.afterResult !== true) return false;
  if (output.type !== "display" || output.isResult !== true) return true;
  const isSameText = output.data["text/plain"] === result?.["text/plain"];
  return !isSameText || Object.keys(output.binary).length > 0;
}

/** What the model should know besides the output, one line each. */
export function remarks(execution: CodeExecution): string[] {
  const { replaced, state, agent, status, error } = execution;
  return [
    ...(replaced === undefined ? [] : [replacedText(replaced)]),
    ...(state.survived ? [] : [`[variables were lost: ${state.reason ?? "the session ended"}]`]),
    ...(agent === undefined ? [] : agentRemarks(agent)),
    ...(status === "ok" && error === null && isSilent(execution) ? ["[no output]"] : []),
  ];
}

function shownOutput(output: Output): string {
  switch (output.type) {
    case "stdout":
    case "stderr":
      return output.text;
    case "display":
      return displayText(output);
  }
}

function displayText({ data, binary }: Output & { type: "display" }): string {
  const text = data["text/markdown"] ?? data["text/plain"] ?? Object.values(data)[0] ?? "";
  const images = Object.keys(binary).filter((mime) => mime.startsWith("image/"));
  return images.length === 0 ? `${text}\n` : `[image: ${text || images.join(", ")}]\n`;
}

/** Tables and other structures in the shortest form. */
function valueText(result: MimeBundle, renderer: Renderer): string {
  const plain = result["text/plain"] ?? "";
  const structured = plain.length < SHORT_VALUE ? undefined : (tableOf(result) ?? dataOf(result));
  if (structured === undefined) return `${plain}\n`;
  const { text } = renderer.render(structured.value);
  return `${text.length < plain.length ? text + structured.note : plain}\n`;
}

interface Structured {
  readonly value: unknown;
  /** What the value leaves out. */
  readonly note: string;
}

function dataOf(result: MimeBundle): Structured | undefined {
  const text = result[VALUE_MIME];
  if (text === undefined) return undefined;
  try {
    return { value: decodeValue(JSON.parse(text)), note: "" };
  } catch {
    // It comes from the sandbox: anything invalid is shown as text.
    return undefined;
  }
}

function tableOf(result: MimeBundle): Structured | undefined {
  const text = result[TABLE_MIME];
  if (text === undefined) return undefined;
  try {
    const table = JSON.parse(text) as Table;
    const { columns, rows, shape } = table;
    const index = indexOf(table);
    const names = [...index.names, ...columns.map(String)];
    // Of two columns with the same name a row would keep only the last.
    if (new Set(names).size < names.length) return undefined;
    const value = rows.map((row, at) => {
      const cells = [...(index.labels[at] ?? []), ...row];
      return Object.fromEntries(names.map((name, column) => [name, cells[column]]));
    });
    const note = more(shape[0] - rows.length, "rows") + more(shape[1] - columns.length, "columns");
    return { value, note };
  } catch {
    return undefined;
  }
}

interface Table {
  readonly columns: readonly unknown[];
  readonly rows: readonly (readonly unknown[])[];
  readonly shape: readonly [number, number];
  readonly index?: readonly unknown[];
  readonly index_names?: readonly unknown[];
}

/** The row labels as columns; none where they only number the rows. */
function indexOf({ index = [], index_names: names = [] }: Table): {
  readonly names: readonly string[];
  readonly labels: readonly (readonly unknown[])[];
} {
  if (names.length === 0 && index.every((label, at) => label === at)) {
    return { names: [], labels: [] };
  }
  const labels = index.map((label) => (Array.isArray(label) ? label : [label]));
  const levels = Math.max(names.length, ...labels.map(({ length }) => length));
  return { names: Array.from({ length: levels }, (_, at) => levelName(names, at, levels)), labels };
}

function levelName(names: readonly unknown[], at: number, levels: number): string {
  const name = names[at] ?? null;
  if (name !== null) return String(name);
  return levels === 1 ? "index" : `index_${at}`;
}

function more(count: number, what: string): string {
  return count > 0 ? `\n(${count} more ${what})` : "";
}

function errorText({ traceback, hint }: NonNullable<CodeExecution["error"]>): string {
  return hint === undefined ? `${traceback}\n` : `${traceback}\nhint: ${hint}\n`;
}

export function replacedText({
  total,
  characters,
}: NonNullable<CodeExecution["replaced"]>): string {
  const shown = characters
    .slice(0, SHOWN_REPLACEMENTS)
    .map((one) => `${one.character} by ${one.with || "nothing"} in line ${one.line}`);
  const more = total - shown.length;
  return `[replaced in the code: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}]`;
}

function agentRemarks({ refused, final, put_back: putBack }: AgentReport): string[] {
  const more = refused.length - SHOWN_REFUSALS;
  return [
    ...(putBack.length === 0 ? [] : [putBackText(putBack)]),
    ...refused
      .slice(0, SHOWN_REFUSALS)
      .map(({ name, reason }) => `[${clipped(name)} was not accepted: ${clipped(reason)}]`),
    ...(more > 0 ? [`[${more} more were not accepted]`] : []),
    ...(final === null ? [] : [`[${clipped(final.via)} accepted]`]),
  ];
}

function putBackText(names: AgentReport["put_back"]): string {
  const shown = names
    .slice(0, SHOWN_NAMES)
    .map(({ name, kept }) =>
      kept === null ? clipped(name) : `${clipped(name)} (yours is now ${clipped(kept)})`,
    );
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  return `[put back for the next cell: ${shown.join(", ")}${rest}; these names belong to the session, use others]`;
}

/** One short line, whatever the sandbox sent. */
function clipped(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, LONGEST_REASON);
}

function isSilent({ outputs, result, agent }: CodeExecution): boolean {
  return outputs.length === 0 && result === null && (agent?.final ?? null) === null;
}

/** Each part begins on a line of its own. */
function joinParts(parts: readonly string[]): string {
  let text = "";
  for (const part of parts) {
    text += text === "" || text.endsWith("\n") ? part : `\n${part}`;
  }
  return text.replace(/\n+$/, "");
}
