import { onAbort } from "../concurrency/abort.js";

/** A signal that comes with another one, or when nothing was heard for so long. */
export class AbortTimer implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: Disposable;
  readonly #timer: NodeJS.Timeout | undefined;
  #isTimeUp = false;

  constructor(outer: AbortSignal | undefined, limitMs: number | undefined) {
    this.#outer = onAbort(outer, (reason) => this.#controller.abort(reason));
    if (limitMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.#isTimeUp = !this.signal.aborted;
      this.#controller.abort(new Error("the time is up"));
    }, limitMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time ended it, and nothing else. */
  get isTimeUp(): boolean {
    return this.#isTimeUp;
  }

  /** The time begins anew. */
  readonly refresh = (): void => {
    this.#timer?.refresh();
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer[Symbol.dispose]();
  }
}
