import { codeLines, fenced } from "./code-fence.js";
import { isBlank, TextBuffer } from "./text-buffer.js";

const DEEPEST_PREFIX = 8;
const DEEPEST_TABLE = 32;
const MOST_COLUMNS = 200;
const LONGEST_PREFIXED = 262_144;

export type Mark = "**" | "*" | "`" | "[";

interface Table {
  rows: number;
  cells: number;
  /** A table around a table arranges a page: its cells are blocks. */
  isLayout: boolean;
  isInRow: boolean;
  /** Columns of the last cell after its first. */
  more: number;
}

/** Puts words into lines of Markdown, with as many breaks and spaces as the elements around them ask for. */
export class MarkdownWriter {
  readonly #buffer: TextBuffer;
  readonly #pending: Mark[] = [];
  readonly #indents: string[] = [];
  readonly #tables: Table[] = [];
  /** Tables within so many tables that they are no longer told apart. */
  #deeper = 0;
  #prefix = "";
  /** Of the empty line before the next word: what both sides of it are in. */
  #gap: string | undefined;
  #breaks = 0;
  #hasSpace = false;
  /** A list mark or the like begins the line, and its text must follow. */
  #isMarked = false;
  #isInCell = false;

  constructor(expected: number) {
    this.#buffer = new TextBuffer(expected);
  }

  /** How much was written, which is also the place of what comes next. */
  get length(): number {
    return this.#buffer.length;
  }

  /** Forgets what was written since. */
  goBack(place: number): void {
    if (place > this.#buffer.length) return;
    this.#buffer.cut(place);
    this.#pending.length = 0;
    this.#isMarked = false;
    this.break(2);
  }

  between(start: number, end: number): string {
    return this.#buffer.text(start, end).trim();
  }

  word(text: string): void {
    this.text(text, 0, text.length);
  }

  /** What stands from `start` to `end` in a text. */
  text(source: string, start: number, end: number): void {
    let first = start;
    let last = end;
    while (first < last && isBlank(source.charCodeAt(first))) first += 1;
    if (first > start) this.#hasSpace = true;
    if (first === last) return;
    while (isBlank(source.charCodeAt(last - 1))) last -= 1;
    this.#lead(this.#prefix);
    this.#putPending();
    this.#buffer.addWords(source, first, last, this.#isInCell);
    this.#hasSpace = last < end;
  }

  break(lines: number): void {
    if (this.#isInCell) this.#hasSpace = true;
    if (this.#isInCell || this.#isMarked) return;
    if (lines > this.#breaks) this.#breaks = lines;
    this.#gap ??= this.#prefix;
    this.#hasSpace = false;
  }

  lineBreak(): void {
    this.break(Math.min(2, this.#breaks + 1));
  }

  /** Begins a line, as `## ` does. */
  begin(mark: string): void {
    if (!this.#isInCell && !this.#isMarked) this.#putMark(mark, this.#prefix);
  }

  /** Begins a line of the list around it. */
  item(mark: string): void {
    if (this.#isInCell || this.#isMarked) return;
    const own = this.#indents.at(-1)?.length ?? 0;
    this.#putMark(mark, this.#prefix.slice(0, this.#prefix.length - own));
  }

  indent(prefix: string): void {
    const shown = this.#indents.length < DEEPEST_PREFIX ? prefix : "";
    this.#indents.push(shown);
    this.#prefix += shown;
  }

  outdent(): void {
    const gone = this.#indents.pop() ?? "";
    this.#prefix = this.#prefix.slice(0, this.#prefix.length - gone.length);
    if (this.#gap !== undefined && this.#prefix.length < this.#gap.length) this.#gap = this.#prefix;
  }

  /** Written before the next word, so that it never stands before a space. */
  open(mark: Mark): void {
    this.#pending.push(mark);
  }

  /** Written behind the last word; nothing if there was none. */
  close(mark: Mark, end: string): void {
    const index = this.#pending.lastIndexOf(mark);
    if (index >= 0) this.#pending.splice(index, 1);
    else this.#buffer.add(end);
  }

  /** Text in lines that stay as they are. */
  codeBlock(code: string, language: string): void {
    const lines = codeLines(code);
    if (lines === "") return;
    if (this.#isInCell) {
      this.word(`\`${lines}\``);
      return;
    }
    this.break(2);
    // A prefix in front of millions of lines would be far more than they are.
    const prefix = lines.length > LONGEST_PREFIXED ? "" : this.#prefix;
    this.#put(fenced(lines, language).replaceAll("\n", `\n${prefix}`));
    this.break(2);
  }

  rule(): void {
    this.break(2);
    if (!this.#isInCell) this.#putBar("---");
    this.break(2);
  }

  isPending(mark: Mark): boolean {
    return this.#pending.includes(mark);
  }

  openTable(isLayout: boolean): void {
    const outer = this.#tables.at(-1);
    if (outer !== undefined) {
      outer.isLayout = true;
      this.#isInCell = false;
    }
    this.break(2);
    if (this.#tables.length < DEEPEST_TABLE)
      this.#tables.push({ rows: 0, cells: 0, isLayout, isInRow: false, more: 0 });
    else this.#deeper += 1;
  }

  closeTable(): void {
    this.endRow();
    if (this.#deeper > 0) this.#deeper -= 1;
    else this.#tables.pop();
    this.break(2);
  }

  row(): void {
    this.endRow();
    const table = this.#tables.at(-1);
    if (table !== undefined) {
      table.isInRow = true;
      table.cells = 0;
      table.more = 0;
    }
    this.break(1);
  }

  cell(columns: number): void {
    const table = this.#tables.at(-1);
    if (table === undefined || table.isLayout) {
      this.break(1);
      return;
    }
    if (!table.isInRow) this.row();
    this.#spread(table);
    if (table.cells > MOST_COLUMNS) return;
    if (table.cells > 0) this.#hasSpace = true;
    this.#putBar("|");
    table.cells += 1;
    table.more = columns - 1;
    this.#isInCell = true;
    this.#hasSpace = true;
  }

  endRow(): void {
    const table = this.#tables.at(-1);
    if (table === undefined || !table.isInRow) return;
    table.isInRow = false;
    this.#isInCell = false;
    if (table.isLayout || table.cells === 0) return;
    this.#spread(table);
    this.#hasSpace = true;
    this.#putBar("|");
    table.rows += 1;
    this.break(1);
    if (table.rows > 1) return;
    this.#putBar(`|${" --- |".repeat(table.cells)}`);
    this.break(1);
  }

  /** Empty cells for the columns that the last one also takes. */
  #spread(table: Table): void {
    for (; table.more > 0 && table.cells < MOST_COLUMNS; table.more -= 1) {
      this.#hasSpace = true;
      this.#putBar("|");
      table.cells += 1;
    }
    table.more = 0;
  }

  #putMark(mark: string, prefix: string): void {
    if (this.#breaks === 0) this.#breaks = 1;
    this.#lead(prefix);
    this.#buffer.add(mark);
    this.#isMarked = true;
  }

  #put(text: string): void {
    this.#lead(this.#prefix);
    this.#putPending();
    this.#buffer.add(text);
  }

  #putPending(): void {
    if (this.#pending.length === 0) return;
    for (const mark of this.#pending.splice(0)) this.#buffer.add(mark);
  }

  /** Of a table, in front of which nothing that is pending belongs. */
  #putBar(text: string): void {
    this.#lead(this.#prefix);
    this.#buffer.add(text);
  }

  /** What stands between the last word and the next. */
  #lead(prefix: string): void {
    if (this.#breaks > 0) this.#newLine(prefix);
    else if (this.#hasSpace && !this.#isMarked && this.#buffer.length > 0) this.#buffer.add(" ");
    this.#breaks = 0;
    this.#gap = undefined;
    this.#hasSpace = false;
    this.#isMarked = false;
  }

  #newLine(prefix: string): void {
    if (this.#buffer.length === 0) this.#buffer.add(prefix);
    else if (this.#breaks === 1) this.#buffer.add(`\n${prefix}`);
    else this.#buffer.add(`\n${(this.#gap ?? prefix).trimEnd()}\n${prefix}`);
  }
}
