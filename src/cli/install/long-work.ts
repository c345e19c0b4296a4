import { escapeControls, isTerminal, painterFor } from "../terminal/terminal.js";

const LOG_MS = 20_000;
const LIVE_MS = 1_000;
const USUAL_COLUMNS = 80;

/** Shows progress of work that may take minutes: a live line on a terminal, else a line now and then. */
export class LongWork implements Disposable {
  readonly #title: string;
  readonly #stream: NodeJS.WritableStream & { readonly columns?: number };
  readonly #isLive: boolean;
  readonly #started = Date.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #last = "";

  constructor(
    title: string,
    { quiet = false, stream = process.stderr as NodeJS.WritableStream } = {},
  ) {
    this.#title = title;
    this.#stream = stream;
    this.#isLive = isTerminal(stream);
    if (quiet) return;
    this.#timer = setInterval(() => this.#show(), this.#isLive ? LIVE_MS : LOG_MS).unref();
  }

  tell(text: string): void {
    this.#last = text.trim().split("\n").at(-1)?.trim() || this.#last;
  }

  #show(): void {
    const seconds = Math.round((Date.now() - this.#started) / 1000);
    const text = `${this.#title}, ${seconds} s so far${this.#last === "" ? "" : `: ${this.#last}`}`;
    if (!this.#isLive) {
      this.#stream.write(`cellar: ${text}\n`);
      return;
    }
    const shown = escapeControls(text).slice(0, (this.#stream.columns || USUAL_COLUMNS) - 1);
    this.#stream.write(`\r\u001b[K${painterFor(this.#stream)("dim", shown)}`);
  }

  [Symbol.dispose](): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    if (this.#isLive) this.#stream.write("\r\u001b[K");
  }
}
