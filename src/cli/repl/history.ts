import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const KEPT_CELLS = 1_000;
const LINE_END = "\u001e";

/** The cells typed at the prompt, in a file of the user; failing to save it is ignored. */
export class History {
  readonly #path: string;
  readonly #cells: string[];

  constructor(path: string) {
    this.#path = path;
    this.#cells = this.#load();
  }

  get cells(): readonly string[] {
    return this.#cells;
  }

  add(text: string): void {
    const cell = text.trimEnd();
    if (cell.trim() === "") return;
    const known = this.#cells.indexOf(cell);
    if (known >= 0) this.#cells.splice(known, 1);
    this.#cells.push(cell);
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, `${toLine(cell)}\n`, { mode: 0o600 });
    } catch {
      // A read-only home has no history.
    }
  }

  #load(): string[] {
    try {
      const lines = readFileSync(this.#path, "utf8").split("\n").filter(Boolean);
      const newest = [...new Set(lines.reverse())].slice(0, KEPT_CELLS).reverse();
      if (lines.length > 2 * KEPT_CELLS) {
        writeFileSync(this.#path, `${newest.join("\n")}\n`, { mode: 0o600 });
      }
      return newest.map(toCell).filter(Boolean);
    } catch {
      return [];
    }
  }
}

function toLine(cell: string): string {
  return cell.replaceAll(LINE_END, "").replaceAll(/\r?\n/g, LINE_END);
}

/** Drops control characters, since the file may have been edited. */
function toCell(line: string): string {
  return line
    .replaceAll(LINE_END, "\n")
    .replaceAll("\t", "    ")
    .replaceAll(/[^\P{Cc}\n]/gu, "");
}
