import { counted, errorLine } from "../../errors.js";
import { type Cell, type CellOutput, cellName } from "../../notebook/cell.js";
import { cut } from "./cell-view.js";
import { figure } from "./excerpt.js";

const LONGEST_CODE = 400;
const LONGEST_OUTPUT = 300;
const LEAST_OUTPUT = 40;

export interface CellBrief {
  readonly id: string;
  readonly number: Cell["number"];
  readonly state: Cell["state"];
  readonly isUndone: boolean;
  readonly code: string;
  readonly shown: string;
}

export interface Overview {
  readonly cells: readonly CellBrief[];
  /** Cells after these. */
  readonly more: number;
  readonly text: string;
}

export function overviewOf(
  all: readonly Cell[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Overview {
  const cells = all.slice(offset, offset + limit).map(briefOf);
  const more = Math.max(0, all.length - offset - cells.length);
  const lines = cells.map(textOf);
  if (more > 0) lines.push(`[${counted(more, "more cell")}: offset=${offset + cells.length}]`);
  return { cells, more, text: lines.join("\n\n") };
}

function briefOf({ id, number, state, isUndone = false, code, outputs }: Cell): CellBrief {
  return {
    id,
    number,
    state,
    isUndone,
    code: cut(code.trimEnd(), LONGEST_CODE),
    shown: shownOf(outputs),
  };
}

function textOf({ id, number, state, isUndone, code, shown }: CellBrief): string {
  const marks = [...(isUndone ? ["undone"] : []), ...(number === null ? [`id ${id}`] : [])];
  const heading = [cellName({ number }), state, ...marks].join(" · ");
  const source = code.replace(/^/gm, "> ");
  return [heading, source, ...(shown === "" ? [] : [shown])].join("\n");
}

/** The first outputs, and how many more there are. */
function shownOf(outputs: readonly CellOutput[]): string {
  const lines: string[] = [];
  let left = LONGEST_OUTPUT;
  for (const [at, output] of outputs.entries()) {
    if (left < LEAST_OUTPUT) {
      lines.push(`[${counted(outputs.length - at, "more output")}]`);
      break;
    }
    const words = wordsOf(output, left);
    left -= words.length;
    lines.push(words);
  }
  return lines.join("\n");
}

function wordsOf(output: CellOutput, left: number): string {
  switch (output.type) {
    case "ERROR":
      return cut(errorLine(output.name, output.message), left);
    case "IMAGE":
      return `[${output.mime}]`;
    case "TEXT": {
      const { text, length } = output;
      if (length === undefined) return cut(text.trimEnd(), left);
      // The cell has only its start, and the end of that names a place inside the library.
      const start = text.slice(0, left);
      return `${start}\n[${figure(length - start.length)} characters left out]`;
    }
    default:
      return cut(output.text.trimEnd(), left);
  }
}
