/** Pieces come at least so far apart, however often a cell prints. */
const PACE_MS = 250;
/** Characters of one notification. The result has the rest. */
const LONGEST_PIECE = 4_000;

export interface Progress {
  /** Characters printed so far; grows with each piece. */
  readonly progress: number;
  readonly message: string;
}

/** Passes on what a cell prints: the first piece at once, then in a bounded rate and size. */
export class ProgressFeed implements AsyncDisposable {
  readonly #send: (progress: Progress) => Promise<void>;
  #printed = 0;
  #text = "";
  #omitted = 0;
  #timer: NodeJS.Timeout | undefined;
  /** A reader that is slow gets fewer and not more of them. */
  #sending: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(send: (progress: Progress) => Promise<void>) {
    this.#send = send;
  }

  readonly take = (text: string): void => {
    if (this.#isOver || text === "") return;
    this.#printed += text.length;
    const all = this.#text + text;
    this.#text = all.slice(-LONGEST_PIECE);
    this.#omitted += all.length - this.#text.length;
    if (this.#timer === undefined) this.#flush();
  };

  /** Sends what is left; nothing comes after it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (this.#text !== "") await this.#next();
  }

  #flush(): void {
    this.#sending = this.#next();
    this.#timer = setTimeout(() => {
      void this.#sending.then(() => {
        this.#timer = undefined;
        if (!this.#isOver && this.#text !== "") this.#flush();
      });
    }, PACE_MS);
  }

  #next(): Promise<void> {
    const note = this.#omitted === 0 ? "" : `[… ${this.#omitted} characters]\n`;
    const message = `${note}${this.#text}`;
    this.#text = "";
    this.#omitted = 0;
    return this.#send({ progress: this.#printed, message }).catch(() => {});
  }
}
