import type { CodeExecution, Output } from "../backends/backend.js";
import type { AgentReport, MimeBundle } from "../protocol/messages.js";
import { decodeValue } from "../protocol/values.js";
import { TABLE_MIME } from "../session/cell.js";
import type { Renderer } from "./toon.js";

/** The value of a cell as data, where its session tells it. */
const VALUE_MIME = "application/vnd.cellar.value+json";
const SHOWN_REPLACEMENTS = 5;
/** Up to so many characters Python's own form is the one that reads best. */
const SHORT_VALUE = 200;

/** What a cell printed and showed, in its order, as the text that a model reads. */
export function outputText(execution: CodeExecution, renderer: Renderer): string {
  const shown = execution.outputs.map(shownOutput);
  const { result, error } = execution;
  return joinParts([
    ...shown,
    ...(result === null ? [] : [valueText(result, renderer)]),
    ...(error === null ? [] : [errorText(error)]),
  ]);
}

/** What the model should know beside the output, one line each. */
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

/** Tables and other structures in the form that has the fewest tokens. */
function valueText(result: MimeBundle, renderer: Renderer): string {
  const plain = result["text/plain"] ?? "";
  const structured = plain.length < SHORT_VALUE ? undefined : (tableOf(result) ?? dataOf(result));
  if (structured === undefined) return `${plain}\n`;
  const rendered = renderer.render(structured.value);
  const isShorter = rendered.text.length < plain.length;
  return `${isShorter ? rendered.text + structured.note : plain}\n`;
}

interface Structured {
  readonly value: unknown;
  /** What is not in the value. */
  readonly note: string;
}

function dataOf(result: MimeBundle): Structured | undefined {
  const text = result[VALUE_MIME];
  if (text === undefined) return undefined;
  try {
    return { value: decodeValue(JSON.parse(text)), note: "" };
  } catch {
    // It comes out of the sandbox: what is no value is shown as text.
    return undefined;
  }
}

function tableOf(result: MimeBundle): Structured | undefined {
  const text = result[TABLE_MIME];
  if (text === undefined) return undefined;
  try {
    const { columns, rows, shape } = JSON.parse(text) as {
      columns: unknown[];
      rows: unknown[][];
      shape: [number, number];
    };
    const value = rows.map((row) =>
      Object.fromEntries(columns.map((column, index) => [String(column), row[index]])),
    );
    const more = shape[0] - rows.length;
    return { value, note: more > 0 ? `\n(${more} more rows)` : "" };
  } catch {
    return undefined;
  }
}

function errorText({ traceback, hint }: NonNullable<CodeExecution["error"]>): string {
  return hint === undefined ? `${traceback}\n` : `${traceback}\nhint: ${hint}\n`;
}

/** Which characters of the code were replaced before it ran. */
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

function agentRemarks({ refused, final }: AgentReport): string[] {
  return [
    ...refused.map(({ name, reason }) => `[${name} was not accepted: ${reason}]`),
    ...(final === null ? [] : [`[${final.via} accepted]`]),
  ];
}

function isSilent({ outputs, result, agent }: CodeExecution): boolean {
  return outputs.length === 0 && result === null && (agent?.final ?? null) === null;
}

/** Pieces of one stream follow each other; other parts begin on a line of their own. */
function joinParts(parts: readonly string[]): string {
  let text = "";
  for (const part of parts) {
    text += text === "" || text.endsWith("\n") ? part : `\n${part}`;
  }
  return text.replace(/\n+$/, "");
}
