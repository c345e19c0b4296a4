import { createInterface, type Interface } from "node:readline";
import type { History } from "./history.js";
import { isComplete } from "./input-rule.js";
import { painterFor } from "./terminal.js";

const HISTORY_SIZE = 1_000;

/** The prompt of a terminal: whole inputs out of lines, with history, Ctrl-C and Ctrl-D. */
export class Prompt {
  readonly #interface: Interface;
  readonly #typed: string[] = [];
  #lines: string[] = [];
  #number = 1;
  #closed = false;
  #wake: () => void = () => {};
  #waiting = false;

  constructor(history: History) {
    this.#interface = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: history.load(),
      historySize: HISTORY_SIZE,
      removeHistoryDuplicates: true,
      tabSize: 4,
    });
    this.#interface.on("line", (line) => {
      history.add(line);
      this.#typed.push(line);
      this.#wake();
    });
    this.#interface.on("close", () => {
      this.#closed = true;
      this.#wake();
    });
    this.#interface.on("SIGINT", () => this.#clear());
  }

  /** The next whole input; undefined when the user leaves. */
  async read(number: number): Promise<string | undefined> {
    this.#number = number;
    this.#lines = [];
    for (;;) {
      const line = await this.#line();
      if (line === undefined) {
        process.stdout.write("\n");
        return undefined;
      }
      this.#lines.push(line);
      const text = this.#lines.join("\n");
      if (text.trim() === "") this.#lines = [];
      else if (isComplete(text)) return text;
    }
  }

  /** Lends the terminal to a running cell, so that Ctrl-C arrives as a signal. */
  async duringRun<T>(onInterrupt: () => void, work: () => Promise<T>): Promise<T> {
    this.#interface.pause();
    process.stdin.setRawMode(false);
    process.on("SIGINT", onInterrupt);
    try {
      return await work();
    } finally {
      process.off("SIGINT", onInterrupt);
      if (!this.#closed) {
        process.stdin.setRawMode(true);
        this.#interface.resume();
      }
    }
  }

  /** Writes above the line that is being typed. */
  interject(write: () => void): void {
    if (!this.#waiting) {
      write();
      return;
    }
    process.stdout.write("\r\u001b[K");
    write();
    this.#interface.prompt(true);
  }

  close(): void {
    this.#interface.close();
  }

  async #line(): Promise<string | undefined> {
    // Ctrl-C may take back a line that has just been heard.
    while (this.#typed.length === 0 && !this.#closed) {
      this.#ask();
      this.#waiting = true;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#waiting = false;
    }
    return this.#typed.shift();
  }

  #ask(): void {
    const label = `In [${this.#number}]: `;
    const paint = painterFor(process.stdout);
    this.#interface.setPrompt(
      this.#lines.length === 0
        ? paint("green", label)
        : paint("dim", `${"...: ".padStart(label.length)}`),
    );
    this.#interface.prompt();
  }

  /** Ctrl-C at the prompt takes back everything typed so far. */
  #clear(): void {
    this.#lines = [];
    this.#typed.length = 0;
    process.stdout.write("^C\n");
    this.#interface.write(null, { ctrl: true, name: "e" });
    this.#interface.write(null, { ctrl: true, name: "u" });
    this.#ask();
  }
}
