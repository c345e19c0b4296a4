import type { Completion } from "../../../backends/backend.js";
import { EditBuffer } from "./edit-buffer.js";
import { applyKey, type Key, nameOf, typedBy } from "./keys.js";
import { commonStart } from "./match-list.js";
import { Recall, Search } from "./recall.js";

export type Outcome =
  | { readonly kind: "edited" }
  | { readonly kind: "cancelled" | "left" | "cleared" | "suspended" }
  /** Run `text` when `check` is complete, else `addLine`. */
  | { readonly kind: "entered"; readonly text: string; readonly check: string }
  /** Find what fits at the cursor, and `offer` it. */
  | { readonly kind: "completing"; readonly text: string; readonly cursor: number };

const EDITED: Outcome = { kind: "edited" };
const INDENT = 4;

/** One input: its lines, recall of earlier cells, and search. */
export class LineEditor {
  readonly #buffer = new EditBuffer();
  readonly #cells: readonly string[];
  readonly #recall: Recall;
  #search: Search | undefined;
  /** The text of a paste that is still coming. */
  #pasted: string | undefined;

  constructor(cells: readonly string[]) {
    this.#cells = cells;
    this.#recall = new Recall(cells);
  }

  get isPasting(): boolean {
    return this.#pasted !== undefined;
  }

  get shown(): { text: string; cursor: number; note?: string } {
    const { text, cursor } = this.#buffer;
    if (this.#search === undefined) return { text, cursor };
    const { found, query, isFailing } = this.#search;
    const note = `(${isFailing ? "failed " : ""}reverse-i-search) ${query}`;
    if (found === undefined) return { text, cursor, note };
    return { text: this.#cells[found.at] ?? "", cursor: found.place, note };
  }

  press(key: Key): Outcome {
    if (key.name === "paste-start") this.#pasted = "";
    else if (this.#pasted !== undefined) this.#paste(key, this.#pasted);
    else if (this.#search !== undefined) return this.#pressInSearch(key, this.#search);
    else return this.#press(key);
    return EDITED;
  }

  /** Inserts the common prefix; true when several matches remain. */
  offer({ matches, start, end }: Completion): boolean {
    const common = commonStart(matches);
    if (common.length > end - start || matches.length === 1) {
      this.#buffer.replace(start, end, common);
      return false;
    }
    return matches.length > 1;
  }

  #press(key: Key): Outcome {
    const name = nameOf(key);
    const { text, cursor } = this.#buffer;
    if (name === "up" || name === "ctrl-p") return this.#up();
    if (name === "down" || name === "ctrl-n") return this.#down();
    this.#recall.settle();
    switch (name) {
      case "return":
      case "enter":
        return this.#enter();
      case "tab":
        if (this.#buffer.lineBefore.trim() !== "") return { kind: "completing", text, cursor };
        this.#buffer.insert(" ".repeat(INDENT - (this.#buffer.lineBefore.length % INDENT)));
        return EDITED;
      case "ctrl-r":
        this.#search = new Search(this.#cells);
        return EDITED;
      case "ctrl-c":
        return { kind: "cancelled" };
      case "ctrl-l":
        return { kind: "cleared" };
      case "ctrl-z":
        return { kind: "suspended" };
      case "ctrl-d":
        if (text === "") return { kind: "left" };
    }
    applyKey(this.#buffer, key);
    return EDITED;
  }

  addLine(): void {
    this.#buffer.insert("\n");
  }

  #enter(): Outcome {
    const { text } = this.#buffer;
    // A cell of the past needs no blank line at its end to be complete.
    if (this.#recall.isPast) return { kind: "entered", text, check: `${text}\n` };
    if (this.#buffer.isOnLastLine) return { kind: "entered", text, check: text };
    this.addLine();
    return EDITED;
  }

  #up(): Outcome {
    if (this.#buffer.isOnFirstLine) this.#recallNext(-1);
    else this.#buffer.up();
    return EDITED;
  }

  #down(): Outcome {
    if (this.#buffer.isOnLastLine) this.#recallNext(1);
    else this.#buffer.down();
    return EDITED;
  }

  /** The input before Up filters the cells. */
  #recallNext(step: 1 | -1): void {
    const { text, cursor } = this.#buffer;
    const prefix = !this.#recall.isPast && cursor === text.length ? text : "";
    const found = this.#recall.move(text, step, prefix);
    if (found !== undefined) this.#buffer.set(found);
  }

  #paste(key: Key, pasted: string): void {
    if (key.name === "paste-end") {
      this.#pasted = undefined;
      this.#buffer.insert(pasted);
    } else if (key.name === "return" || key.name === "enter") {
      // Some terminals send both for one line end.
      const isSecond = key.name === "enter" && pasted.endsWith("\n") && key.sequence === "\r\n";
      this.#pasted = isSecond ? pasted : `${pasted}\n`;
    } else if (key.name === "tab") {
      this.#pasted = `${pasted}${" ".repeat(INDENT)}`;
    } else {
      this.#pasted = `${pasted}${typedBy(key)}`;
    }
  }

  #pressInSearch(key: Key, search: Search): Outcome {
    const name = nameOf(key);
    switch (name) {
      case "ctrl-r":
        search.next(-1);
        return EDITED;
      case "ctrl-s":
        search.next(1);
        return EDITED;
      case "backspace":
      case "ctrl-h":
        search.erase();
        return EDITED;
      case "ctrl-g":
      case "ctrl-c":
        this.#search = undefined;
        return EDITED;
    }
    const typed = typedBy(key);
    if (typed !== "") {
      search.type(typed);
      return EDITED;
    }
    this.#search = undefined;
    if (search.found !== undefined) {
      const { at, place } = search.found;
      this.#recall.goTo(this.#buffer.text, at);
      this.#buffer.set(this.#cells[at] ?? "", place);
    }
    return name === "escape" || name === "alt-escape" ? EDITED : this.#press(key);
  }
}
