import { wrongKind } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import type { Cell } from "../cell.js";

const MOST_NAMED = 20;

/** The number of a cell's last run, its id, or the cell itself. */
export type CellKey = number | string | Pick<Cell, "id">;

export function findCell(cells: readonly Cell[], given: CellKey): Cell {
  const key = typeof given === "object" ? given?.id : given;
  if (typeof key !== "number" && typeof key !== "string") {
    throw wrongKind("the cell", "a number, an id or a cell", given);
  }
  const found = cells.filter(({ id, number }) => (typeof key === "number" ? number : id) === key);
  const [cell] = found;
  if (cell === undefined) {
    throw new CellarError("NOT_FOUND", `there is no cell ${JSON.stringify(key).slice(0, 64)}`, {
      remedy: `Give the number or the id of a cell: ${numbersIn(cells)}.`,
    });
  }
  if (found.length === 1) return cell;
  throw new CellarError("INVALID_INPUT", `${found.length} cells have the number ${key}`, {
    remedy: `Name one by its id: ${found
      .slice(0, MOST_NAMED)
      .map(({ id }) => id)
      .join(", ")}.`,
  });
}

/** By its index, as in the URIs of outputs. */
export function cellAt(cells: readonly Cell[], index: number): Cell {
  const cell = cells[index];
  if (cell !== undefined) return cell;
  const range =
    cells.length === 0 ? "The notebook is empty." : `The indexes are 0 to ${cells.length - 1}.`;
  throw new CellarError("NOT_FOUND", `there is no cell with index ${index}`, {
    remedy: `Use the URI of an output. ${range}`,
  });
}

function numbersIn(cells: readonly Cell[]): string {
  if (cells.length === 0) return "there are none";
  const numbers = cells.flatMap(({ number }) => number ?? []).sort((a, b) => a - b);
  if (numbers.length === 0) return "none has run, so use their ids";
  if (numbers.length === 1) return `there is ${numbers[0]}`;
  const more = numbers.length > MOST_NAMED ? " and more" : "";
  return `there are ${numbers.slice(-MOST_NAMED).join(", ")}${more}`;
}
