import { emitKeypressEvents } from "node:readline";
import type { Completeness, Completion } from "../../backends/backend.js";
import { unlessAborted } from "../../concurrency/abort.js";
import { painterFor } from "../terminal/terminal.js";
import type { Key } from "./editor/keys.js";
import { LineEditor } from "./editor/line-editor.js";
import { listMatches } from "./editor/match-list.js";
import { View } from "./editor/view.js";
import type { History } from "./history.js";

/** How long keys wait for the session's answer to Tab or Enter. */
const PATIENCE_MS = 1_500;
const PASTES_ARE_MARKED = "\u001b[?2004h";
const PASTES_ARE_TYPED = "\u001b[?2004l";

export interface PromptSession {
  complete(text: string, cursor: number): Promise<Completion>;
  isComplete(text: string): Promise<Completeness>;
}

/** The prompt of a terminal: whole cells, with completion, history, Ctrl-C and Ctrl-D. */
export class Prompt {
  readonly #history: History;
  readonly #session: PromptSession;
  readonly #view = new View(process.stdout);
  readonly #keys: Key[] = [];
  #editor: LineEditor | undefined;
  #number = 1;
  #isClosed = false;
  /** Set while the session answers. */
  #question: AbortController | undefined;
  #isDrawing = false;
  #settle: (text: string | undefined) => void = () => {};
  readonly #onKey = (_: string | undefined, key: Key) => this.#hear(key);
  readonly #onEnd = () => this.#leave();
  readonly #onResize = () => this.#draw();
  readonly #onExit = () => void process.stdout.write(PASTES_ARE_TYPED);

  constructor(history: History, session: PromptSession) {
    this.#history = history;
    this.#session = session;
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

  /** Writes above the input; `write` returns whether it left its line open. */
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

  #rest(): void {
    this.#editor = undefined;
    this.#question?.abort();
    this.#view.forget();
    if (this.#isClosed) return;
    process.stdin.pause();
    process.stdin.setRawMode(false);
  }

  #hear(key: Key): void {
    // Ctrl-C does not wait for the session.
    if (this.#question !== undefined && isCtrlC(key)) {
      this.#keys.length = 0;
      this.#question.abort();
    }
    this.#keys.push(key);
    this.#pump();
  }

  #pump(): void {
    while (this.#editor !== undefined && this.#question === undefined) {
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
      case "entered":
        void this.#enter(editor, outcome.text, outcome.check);
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

  /** Ends the prompt; the text stays on the screen. */
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
    const found = await this.#ask(this.#session.complete(text, cursor));
    if (found !== undefined && this.#editor === editor && editor.offer(found)) {
      this.#draw();
      this.#view.leave();
      process.stdout.write(`${listMatches(found.matches, process.stdout.columns || 80)}\n`);
    }
    this.#drawSoon();
    this.#pump();
  }

  /** Runs what is complete, or what only Python can explain. */
  async #enter(editor: LineEditor, text: string, check: string): Promise<void> {
    const answer = await this.#ask(this.#session.isComplete(check));
    if (this.#editor !== editor) return;
    if (answer?.status === "incomplete") {
      editor.addLine();
      this.#drawSoon();
    } else if (answer !== undefined || !isCtrlC(this.#keys[0])) {
      this.#end(text);
    }
    this.#pump();
  }

  /** Undefined where the session did not answer; keys wait meanwhile. */
  async #ask<T>(answer: Promise<T>): Promise<T | undefined> {
    const question = new AbortController();
    this.#question = question;
    const timer = setTimeout(() => question.abort(), PATIENCE_MS);
    const found = await unlessAborted(answer, question.signal).catch(() => undefined);
    clearTimeout(timer);
    this.#question = undefined;
    return found;
  }

  /** Once for all keys that arrive together, as in a paste. */
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

function isCtrlC(key: Key | undefined): boolean {
  return key?.ctrl === true && key.name === "c";
}
