import { errorLine } from "../../errors.js";
import { type Cell, type CellOutput, cellName } from "../../notebook/cell.js";
import { GuestText, painterFor } from "./terminal.js";

export function showCell(cell: Cell): void {
  const out = new GuestText(process.stdout);
  const paint = painterFor(process.stdout);
  process.stdout.write(`${paint("bold", headingOf(cell))}\n`);
  for (const line of cell.code.replace(/\n+$/, "").split("\n")) out.write(`> ${line}\n`);
  out.finish();
  for (const output of cell.outputs) {
    out.write(`${wordsOf(output).replace(/\n+$/, "")}\n`);
    out.finish();
  }
  for (const note of cell.notes ?? []) out.write(`note: ${note}\n`);
  out.finish();
}

function headingOf({ id, number, state, isUndone, duration }: Cell): string {
  const parts = [
    cellName({ number }),
    state,
    ...(number === null ? [`id ${id}`] : []),
    ...(isUndone === true ? ["undone"] : []),
    ...(duration === null ? [] : [`${Math.round(duration)} ms`]),
  ];
  return parts.join(" · ");
}

function wordsOf(output: CellOutput): string {
  switch (output.type) {
    case "ERROR": {
      const hint = output.hint === undefined ? "" : `\nhint: ${output.hint}`;
      const told = output.traceback.trim() || errorLine(output.name, output.message);
      return `${told.trimEnd()}${hint}`;
    }
    case "IMAGE": {
      const { width, height, mime, uri, text } = output;
      const size = width === undefined || height === undefined ? "" : ` ${width}x${height}`;
      return `[${mime}${size} ${uri}]${text === "" ? "" : ` ${text}`}`;
    }
    case "MARKDOWN":
      return output.markdown;
    case "LATEX":
      return output.latex;
    case "JSON":
      return output.text || String(JSON.stringify(output.json));
    case "TEXT":
      return output.text;
    case "HTML":
    case "SVG":
    case "DATAFRAME":
      return output.text || `[${output.type}]`;
  }
}
