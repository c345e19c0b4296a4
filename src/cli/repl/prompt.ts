import { emitKeypressEvents } from "node:readline";
import type { Completion } from "../../backends/backend.js";
import { unlessAborted } from "../../concurrency/abort.js";
import { painterFor } from "../terminal/terminal.js";
import type { Key } from "./editor/keys.js";
import { LineEditor } from "./editor/line-editor.js";
import { listMatches } from "./editor/match-list.js";
import { View } from "./editor/view.js";
import type { History } from "./history.js";

/** Keys wait so long for what Tab is to find; then they go on without it. */
const PATIENCE_MS = 1_500;
const PASTES_ARE_MARKED = "\u001b[?2004h";
const PASTES_ARE_TYPED = "\u001b[?2004l";

/** Tells what could stand at the cursor. */
export type Completer = (text: string, cursor: number) => Promise<Completion>;

/** The prompt of a terminal: whole cells, with completion, history, Ctrl-C and Ctrl-D. */
export class Prompt {
  readonly #history: History;
  readonly #complete: Completer;
  readonly #view = new View(process.stdout);
  readonly #keys: Key[] = [];
  #editor: LineEditor | undefined;
  #number = 1;
  #isClosed = false;
  /** Set while Tab is being answered. */
  #search: AbortController | undefined;
  #isDrawing = false;
  #settle: (text: string | undefined) => void = () => {};
  readonly #onKey = (_: string | undefined, key: Key) => this.#hear(key);
  readonly #onEnd = () => this.#leave();
  readonly #onResize = () => this.#draw();
  readonly #onExit = () => void process.stdout.write(PASTES_ARE_TYPED);

  constructor(history: History, complete: Completer) {
    this.#history = history;
    this.#complete = complete;
    emitKeypressEvents(process.stdin);
    process.stdin.on("keypress", this.#onKey);
    process.stdin.on("end", this.#onEnd);
    process.stdout.on("resize", this.#onResize);
    process.on("exit", this.#onExit);
  }

  /** The next whole input; undefined when the user leaves. */
  async read(number: number): Promise<string | undefined> {
    this.#number = number;
    for (;;) {
      const text = await this.#input();
      if (text === undefined) return undefined;
      if (text.trim() === "") continue;
      this.#history.add(text);
      return text;
    }
  }

  /** Lends the terminal to a running cell, so that Ctrl-C arrives as a signal. */
  async duringRun<T>(onInterrupt: () => void, work: () => Promise<T>): Promise<T> {
    process.on("SIGINT", onInterrupt);
    try {
      return await work();
    } finally {
      process.off("SIGINT", onInterrupt);
    }
  }

  /** Writes above what is being typed; `write` tells whether it left its line open. */
  interject(write: () => boolean): void {
    if (this.#editor === undefined) {
      write();
      return;
    }
    this.#view.clear();
    if (write()) process.stdout.write("\n");
    this.#draw();
  }

  close(): void {
    this.#rest();
    process.stdin.off("keypress", this.#onKey);
    process.stdin.off("end", this.#onEnd);
    process.stdout.off("resize", this.#onResize);
    process.off("exit", this.#onExit);
    process.stdin.pause();
  }

  async #input(): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    this.#editor = new LineEditor(this.#history.cells);
    const text = new Promise<string | undefined>((resolve) => {
      this.#settle = resolve;
    });
    process.stdin.setRawMode(true);
    process.stdout.write(PASTES_ARE_MARKED);
    process.stdin.resume();
    this.#draw();
    this.#pump();
    return await text;
  }

  /** Gives the terminal back as it was. */
  #rest(): void {
    this.#editor = undefined;
    this.#search?.abort();
    this.#view.forget();
    if (this.#isClosed) return;
    process.stdin.pause();
    process.stdin.setRawMode(false);
  }

  #hear(key: Key): void {
    // Ctrl-C does not wait for what Tab is to find.
    if (this.#search !== undefined && key.ctrl === true && key.name === "c") {
      this.#keys.length = 0;
      this.#search.abort();
    }
    this.#keys.push(key);
    this.#pump();
  }

  #pump(): void {
    while (this.#editor !== undefined && this.#search === undefined) {
      const key = this.#keys.shift();
      if (key === undefined) return;
      this.#press(this.#editor, key);
    }
  }

  #press(editor: LineEditor, key: Key): void {
    const outcome = editor.press(key);
    switch (outcome.kind) {
      case "edited":
        this.#drawSoon();
        break;
      case "submitted":
        this.#end(outcome.text);
        break;
      case "left":
        this.#leave();
        break;
      case "cancelled":
        this.#end("", "^C");
        break;
      case "cleared":
        process.stdout.write("\u001b[H\u001b[2J");
        this.#view.forget();
        this.#draw();
        break;
      case "suspended":
        this.#suspend();
        break;
      case "completing":
        void this.#completeIn(editor, outcome.text, outcome.cursor);
        break;
    }
  }

  /** The text stays on the screen as it is, and the prompt is over. */
  #end(text: string | undefined, mark = ""): void {
    this.#draw();
    process.stdout.write(`${PASTES_ARE_TYPED}${mark}`);
    this.#view.leave();
    this.#rest();
    this.#settle(text);
  }

  #leave(): void {
    if (this.#editor !== undefined) this.#end(undefined);
    this.#isClosed = true;
  }

  #suspend(): void {
    this.#view.leave();
    process.stdin.setRawMode(false);
    process.once("SIGCONT", () => {
      if (this.#editor === undefined) return;
      process.stdin.setRawMode(true);
      this.#draw();
    });
    process.kill(process.pid, "SIGTSTP");
  }

  async #completeIn(editor: LineEditor, text: string, cursor: number): Promise<void> {
    const search = new AbortController();
    this.#search = search;
    const timer = setTimeout(() => search.abort(), PATIENCE_MS);
    const asked = this.#complete(text, cursor);
    const found = await unlessAborted(asked, search.signal).catch(() => undefined);
    clearTimeout(timer);
    this.#search = undefined;
    if (found !== undefined && this.#editor === editor && editor.offer(found)) {
      this.#draw();
      this.#view.leave();
      process.stdout.write(`${listMatches(found.matches, process.stdout.columns || 80)}\n`);
    }
    this.#drawSoon();
    this.#pump();
  }

  /** Once for all keys that came at a time, as those of a paste do. */
  #drawSoon(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  #draw(): void {
    if (this.#editor === undefined || this.#editor.isPasting) return;
    const paint = painterFor(process.stdout);
    const label = `In [${this.#number}]: `;
    this.#view.draw({
      ...this.#editor.shown,
      label: paint("green", label),
      furtherLabel: paint("dim", "...: ".padStart(label.length)),
    });
  }
}
