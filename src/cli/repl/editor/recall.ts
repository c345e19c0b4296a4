/** Recalls earlier cells; edits to them are kept until the next input. */
export class Recall {
  readonly #cells: readonly string[];
  readonly #drafts = new Map<number, string>();
  #at: number;
  /** The prefix that recalled cells must have. */
  #prefix: string | undefined;

  /** Oldest first; the current input comes last. */
  constructor(cells: readonly string[]) {
    this.#cells = [...cells];
    this.#at = cells.length;
  }

  get isPast(): boolean {
    return this.#at < this.#cells.length;
  }

  /** A key other than Up and Down was used. */
  settle(): void {
    this.#prefix = undefined;
  }

  goTo(text: string, at: number): void {
    this.#drafts.set(this.#at, text);
    this.#at = at;
    this.#prefix = undefined;
  }

  /** The next older (-1) or newer (1) cell that begins with the prefix; the first prefix stays. */
  move(text: string, step: 1 | -1, prefix: string): string | undefined {
    this.#prefix ??= prefix;
    for (let at = this.#at + step; at >= 0 && at <= this.#cells.length; at += step) {
      const found = this.#drafts.get(at) ?? this.#cells[at] ?? "";
      const isEnd = at === this.#cells.length;
      if (!isEnd && (found === text || !found.startsWith(this.#prefix))) continue;
      this.#drafts.set(this.#at, text);
      this.#at = at;
      return found;
    }
    return undefined;
  }
}

/** Looks backwards through the cells for a text while it is typed. */
export class Search {
  readonly #cells: readonly string[];
  query = "";
  found: { readonly at: number; readonly place: number } | undefined;
  /** Nothing older was found; the last match stays. */
  isFailing = false;

  constructor(cells: readonly string[]) {
    this.#cells = cells;
  }

  type(text: string): void {
    this.query += text;
    this.#look(this.found?.at ?? this.#cells.length - 1, -1);
  }

  erase(): void {
    this.query = [...this.query].slice(0, -1).join("");
    this.found = undefined;
    this.isFailing = false;
    if (this.query !== "") this.#look(this.#cells.length - 1, -1);
  }

  next(step: 1 | -1): void {
    if (this.query === "") return;
    this.#look((this.found?.at ?? this.#cells.length) + step, step);
  }

  #look(from: number, step: 1 | -1): void {
    const shown = this.found === undefined ? undefined : this.#cells[this.found.at];
    for (let at = from; at >= 0 && at < this.#cells.length; at += step) {
      const cell = this.#cells[at] ?? "";
      const place = cell.indexOf(this.query);
      if (place < 0 || (cell === shown && at !== this.found?.at)) continue;
      this.found = { at, place };
      this.isFailing = false;
      return;
    }
    this.isFailing = true;
  }
}
