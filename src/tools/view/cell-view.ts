import type { Cell, CellOutput, FileChanges } from "../../notebook/cell.js";
import type { NotebookContent } from "../../notebook/interchange/notebook-content.js";
import { uriOf } from "../addresses.js";
import { type Excerpt, excerptOf, figure, shares } from "./excerpt.js";
import { mimeOf, wordsOf } from "./output-content.js";
import type { CellView, OutputView } from "./shapes.js";

export interface ViewPlace {
  readonly session: string;
  readonly content: Pick<NotebookContent, "cells" | "resource">;
  /** Characters of one output. All of a cell's outputs together may have three times as many. */
  readonly cap: number;
}

const MOST_OUTPUTS = 40;
const MOST_PATHS = 50;
const MOST_COLUMNS = 100;
const LONGEST_NAME = 200;
const LONGEST_CODE = 2_000;
const LONGEST_MESSAGE = 2_000;
const LONGEST_NOTE = 2_000;
const MOST_NOTES = 20;

interface Worded {
  readonly index: number;
  readonly output: CellOutput;
  readonly words: string;
}

/** Shortens long outputs and says where the rest is. */
export async function viewOf(cell: Cell, place: ViewPlace): Promise<CellView> {
  const { error, listed, skipped } = chosen(cell.outputs);
  const all = error === undefined ? listed : [...listed, error];
  const worded: Worded[] = [];
  for (const one of all) {
    worded.push({ ...one, words: await wordsOf(one.output, place.content) });
  }
  const lengths = worded.map(({ words }) => words.length);
  const caps = shares(lengths, place.cap * 3, place.cap);
  const views = worded.map((one, at) => outputView(cell, one, caps[at] ?? place.cap, place));
  const failure = error === undefined ? undefined : views.pop();
  const { id, number, state, executionCount, isUndone, duration, exitCode, files } = cell;
  return {
    id,
    number,
    state,
    executionCount,
    ...(isUndone !== undefined && { isUndone }),
    code: cut(cell.code, LONGEST_CODE),
    duration: duration === null ? null : Math.round(duration * 10) / 10,
    ...(exitCode !== undefined && { exitCode }),
    outputs: views,
    moreOutputs: skipped,
    ...(error !== undefined && {
      error: {
        type: cut(error.output.name, LONGEST_NAME),
        message: cut(error.output.message, LONGEST_MESSAGE),
        traceback: failure?.text ?? "",
      },
    }),
    hints: hintsOf(cell),
    notes: notesOf(cell),
    ...(files !== undefined && { files: boundedChanges(files) }),
  };
}

/** Separates the last error; keeps the first and last of many outputs. */
function chosen(outputs: readonly CellOutput[]) {
  const indexed = outputs.map((output, index) => ({ index, output }));
  const error = indexed.findLast(isError);
  const others = indexed.filter((one) => one !== error);
  if (others.length <= MOST_OUTPUTS) return { error, listed: others, skipped: 0 };
  const half = MOST_OUTPUTS / 2;
  const listed = [...others.slice(0, half), ...others.slice(-half)];
  return { error, listed, skipped: others.length - listed.length };
}

function isError(one: { index: number; output: CellOutput }): one is {
  index: number;
  output: Extract<CellOutput, { type: "ERROR" }>;
} {
  return one.output.type === "ERROR";
}

function outputView(cell: Cell, one: Worded, cap: number, { session }: ViewPlace): OutputView {
  const { index, output } = one;
  const hasOwnForm = output.type !== "TEXT" && output.type !== "ERROR";
  const address = { kind: "output", session, cell: cell.id, output: index } as const;
  const { text, length, omitted } = excerptOf(one.words, cap, (left, from) => {
    const uri = uriOf({ ...address, isText: hasOwnForm });
    const page = `show_cell session=${session} cell=${cell.number ?? cell.id} output=${index} offset=${from}`;
    return `[${figure(left)} characters left out; all ${figure(one.words.length)} are in ${uri}; to read on: ${page}]`;
  }) satisfies Excerpt;
  return {
    index,
    type: output.type,
    stream: streamOf(output),
    mime: mimeOf(output),
    text,
    length,
    omitted,
    uri: uriOf({ ...address, isText: false }),
    ...(output.type === "IMAGE" && sized(output)),
    ...(output.type === "DATAFRAME" && { table: tableOf(output) }),
  };
}

function streamOf(output: CellOutput): OutputView["stream"] {
  switch (output.type) {
    case "TEXT":
      return output.stream;
    case "ERROR":
      return "stderr";
    default:
      return output.isResult ? "result" : "display";
  }
}

function sized({ width, height }: Extract<CellOutput, { type: "IMAGE" }>) {
  return { ...(width !== undefined && { width }), ...(height !== undefined && { height }) };
}

function tableOf({ columns, dtypes, shape }: Extract<CellOutput, { type: "DATAFRAME" }>) {
  const named = columns.slice(0, MOST_COLUMNS).map((column) => {
    const name = typeof column === "string" ? column : (JSON.stringify(column) ?? "");
    return cut(name, LONGEST_NAME);
  });
  const kinds = dtypes.slice(0, MOST_COLUMNS).map((kind) => cut(kind, LONGEST_NAME));
  return { columns: named, dtypes: kinds, shape };
}

function hintsOf({ outputs }: Cell): string[] {
  return outputs.flatMap((output) =>
    output.type === "ERROR" && output.hint !== undefined ? [cut(output.hint, LONGEST_NOTE)] : [],
  );
}

function notesOf({ notes = [], omitted }: Cell): string[] {
  const told = notes.slice(0, MOST_NOTES).map((note) => cut(inOurWords(note), LONGEST_NOTE));
  const lost = Object.entries(omitted ?? {}).filter(([, bytes]) => bytes > 0);
  for (const [stream, bytes] of lost) {
    told.push(
      `${figure(bytes)} bytes of ${stream} were more than is kept. Write large data to a file.`,
    );
  }
  return told;
}

/** A model has no replay(), but it has a tool for one cell. */
function inOurWords(note: string): string {
  return note.replace("replay() runs them again", "rerun_cell runs them again");
}

function boundedChanges({ created, changed, deleted, omitted = 0 }: FileChanges): FileChanges {
  const lists = { created, changed, deleted };
  const left = Object.values(lists).reduce(
    (sum, paths) => sum + Math.max(0, paths.length - MOST_PATHS),
    omitted,
  );
  return {
    created: created.slice(0, MOST_PATHS),
    changed: changed.slice(0, MOST_PATHS),
    deleted: deleted.slice(0, MOST_PATHS),
    ...(left > 0 && { omitted: left }),
  };
}

/** For texts without a URI: names, code and notes. */
export function cut(text: string, most: number): string {
  const notice = (left: number) => `[${figure(left)} characters left out]`;
  return excerptOf(text, most, notice).text;
}
