import { cutTo, layOut, textWidth } from "./text-width.js";

export interface Shown {
  readonly text: string;
  readonly cursor: number;
  /** Prefixes of the first and of other lines; they may have colours. */
  readonly label: string;
  readonly furtherLabel: string;
  readonly note?: string | undefined;
}

export interface Screen {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

const COLOUR = new RegExp(`${String.raw`\u001b`}\\[[0-9;]*m`, "g");

export class View {
  readonly #screen: Screen;
  /** The cursor's row, and the number of rows drawn. */
  #row = 0;
  #height = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  draw({ text, cursor, label, furtherLabel, note }: Shown): void {
    const columns = this.#screen.columns || 80;
    const most = Math.max(1, (this.#screen.rows || 24) - 2);
    const labelOf = (line: number) => (line === 0 ? label : furtherLabel);
    const widthOf = (line: number) => textWidth(labelOf(line).replace(COLOUR, ""));
    const { rows, cursor: place } = layOut(text, cursor, widthOf, columns);
    const drawn = rows.map(({ text: row, line }) =>
      line === undefined ? row : labelOf(line) + row,
    );
    // If it is higher than the screen, show the part around the cursor.
    const top = Math.max(0, place.row - most + 1);
    const seen = drawn.slice(top, top + most);
    if (note !== undefined) seen.push(cutTo(note, columns - 1));
    this.clear();
    this.#screen.write(seen.join("\n"));
    this.#height = seen.length;
    this.#row = place.row - top;
    const up = this.#height - 1 - this.#row;
    const right = place.column;
    this.#screen.write(`\r${up > 0 ? `\u001b[${up}A` : ""}${right > 0 ? `\u001b[${right}C` : ""}`);
  }

  clear(): void {
    if (this.#height === 0) return;
    this.#screen.write(`\r${this.#row > 0 ? `\u001b[${this.#row}A` : ""}\u001b[J`);
    this.forget();
  }

  /** Keeps what is drawn, and continues below it. */
  leave(): void {
    if (this.#height === 0) return;
    const down = this.#height - 1 - this.#row;
    this.#screen.write(`${down > 0 ? `\u001b[${down}B` : ""}\n`);
    this.forget();
  }

  forget(): void {
    this.#row = 0;
    this.#height = 0;
  }
}
