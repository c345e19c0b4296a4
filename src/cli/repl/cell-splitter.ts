const MARKER = /^#\s?%%/;

/** Splits lines that come through a pipe into cells, at blank lines or at `#%%`. */
export class CellSplitter {
  readonly #isOpen: (text: string) => Promise<boolean>;
  #lines: string[] = [];
  #hasMarkers = false;

  /** `isOpen` says whether a bracket or a string of the text waits for its end. */
  constructor(isOpen: (text: string) => Promise<boolean>) {
    this.#isOpen = isOpen;
  }

  async feed(line: string): Promise<string | undefined> {
    if (MARKER.test(line)) {
      this.#hasMarkers = true;
      return this.flush();
    }
    const isEnd = line.trim() === "" && !this.#hasMarkers;
    if (isEnd && !(await this.#isOpen(`${this.#lines.join("\n")}\n`))) return this.flush();
    this.#lines.push(line);
    return undefined;
  }

  flush(): string | undefined {
    const text = this.#lines.join("\n");
    this.#lines = [];
    return text.trim() === "" ? undefined : text;
  }
}
