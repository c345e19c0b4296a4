const BLANKS = /[\s\0-\x20\x7f]+/g;
const SOFT_HYPHEN = "\u00ad";
const DEEPEST_PREFIX = 8;
const DEEPEST_TABLE = 32;
const MOST_COLUMNS = 200;
const LONGEST_FENCE = 12;

export type Mark = "**" | "*" | "`" | "[";

/** A place in what was written. */
export interface Place {
  readonly parts: number;
  readonly characters: number;
}

interface Table {
  rows: number;
  cells: number;
  /** A table around a table arranges a page: its cells are blocks. */
  isLayout: boolean;
  isInRow: boolean;
}

/** Puts words into lines of Markdown, with as many breaks and spaces as the elements around them ask for. */
export class MarkdownWriter {
  readonly #parts: string[] = [];
  readonly #pending: Mark[] = [];
  readonly #indents: string[] = [];
  readonly #tables: Table[] = [];
  /** Tables within so many tables that they are no longer told apart. */
  #deeper = 0;
  #prefix = "";
  #characters = 0;
  #breaks = 0;
  #hasSpace = false;
  /** A list mark or the like begins the line, and its text must follow. */
  #isMarked = false;
  #isInCell = false;

  get characters(): number {
    return this.#characters;
  }

  get place(): Place {
    return { parts: this.#parts.length, characters: this.#characters };
  }

  /** Forgets what was written since. */
  goBack(place: Place): void {
    if (place.parts > this.#parts.length) return;
    this.#parts.length = place.parts;
    this.#characters = place.characters;
    this.#pending.length = 0;
    this.#isMarked = false;
    this.break(2);
  }

  between(from: Place, to: Place): string {
    return this.#parts.slice(from.parts, to.parts).join("").trim();
  }

  text(given: string): void {
    const whole = given.includes(SOFT_HYPHEN) ? given.replaceAll(SOFT_HYPHEN, "") : given;
    const words = whole.replace(BLANKS, " ");
    if (words === "") return;
    const isSpaced = words.charCodeAt(0) === 0x20;
    if (isSpaced) this.#hasSpace = true;
    if (words.length === 1 && isSpaced) return;
    const hasTail = words.charCodeAt(words.length - 1) === 0x20;
    const shown =
      isSpaced || hasTail ? words.slice(isSpaced ? 1 : 0, hasTail ? -1 : undefined) : words;
    this.#put(this.#isInCell && shown.includes("|") ? shown.replaceAll("|", "\\|") : shown);
    this.#hasSpace = hasTail;
  }

  break(lines: number): void {
    if (this.#isInCell) this.#hasSpace = true;
    if (this.#isInCell || this.#isMarked) return;
    if (lines > this.#breaks) this.#breaks = lines;
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
  }

  /** Written before the next word, so that it never stands before a space. */
  open(mark: Mark): void {
    this.#pending.push(mark);
  }

  /** Written behind the last word; nothing if there was none. */
  close(mark: Mark, end: string): void {
    const index = this.#pending.lastIndexOf(mark);
    if (index >= 0) this.#pending.splice(index, 1);
    else this.#add(end);
  }

  /** Text in lines that stay as they are. */
  codeBlock(code: string, language: string): void {
    const lines = code
      .replace(/\r\n?/g, "\n")
      .replace(/\0/g, "")
      .replace(/^\n|\s+$/g, "");
    if (lines === "") return;
    if (this.#isInCell) {
      this.text(`\`${lines}\``);
      return;
    }
    let fence = "```";
    while (lines.includes(fence) && fence.length < LONGEST_FENCE) fence += "`";
    this.break(2);
    this.#put([`${fence}${language}`, ...lines.split("\n"), fence].join(`\n${this.#prefix}`));
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
      this.#tables.push({ rows: 0, cells: 0, isLayout, isInRow: false });
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
    if (table !== undefined) Object.assign(table, { isInRow: true, cells: 0 });
    this.break(1);
  }

  cell(columns: number): void {
    const table = this.#tables.at(-1);
    if (table === undefined || table.isLayout) {
      this.break(1);
      return;
    }
    if (!table.isInRow) this.row();
    for (let column = 0; column < columns && table.cells < MOST_COLUMNS; column += 1) {
      if (table.cells > 0) this.#hasSpace = true;
      this.#putBar("|");
      table.cells += 1;
    }
    this.#isInCell = true;
    this.#hasSpace = true;
  }

  endRow(): void {
    const table = this.#tables.at(-1);
    if (table === undefined || !table.isInRow) return;
    table.isInRow = false;
    this.#isInCell = false;
    if (table.isLayout || table.cells === 0) return;
    this.#hasSpace = true;
    this.#putBar("|");
    table.rows += 1;
    this.break(1);
    if (table.rows > 1) return;
    this.#putBar(`|${" --- |".repeat(table.cells)}`);
    this.break(1);
  }

  #putMark(mark: string, prefix: string): void {
    if (this.#breaks === 0) this.#breaks = 1;
    this.#lead(prefix);
    this.#add(mark);
    this.#isMarked = true;
  }

  #put(text: string): void {
    this.#lead(this.#prefix);
    if (this.#pending.length > 0) this.#add(this.#pending.splice(0).join(""));
    this.#add(text);
  }

  /** Of a table, in front of which nothing that is pending belongs. */
  #putBar(text: string): void {
    this.#lead(this.#prefix);
    this.#add(text);
  }

  /** What stands between the last word and the next. */
  #lead(prefix: string): void {
    if (this.#breaks > 0) this.#newLine(prefix);
    else if (this.#hasSpace && !this.#isMarked && this.#parts.length > 0) this.#add(" ");
    this.#breaks = 0;
    this.#hasSpace = false;
    this.#isMarked = false;
  }

  #newLine(prefix: string): void {
    if (this.#parts.length === 0) this.#add(prefix);
    else if (this.#breaks === 1) this.#add(`\n${prefix}`);
    else this.#add(`\n${prefix.trimEnd()}\n${prefix}`);
  }

  #add(text: string): void {
    this.#parts.push(text);
    this.#characters += text.length;
  }
}
