import { onAbort } from "../concurrency/abort.js";

/** Aborts with another signal, or after a time that `refresh` restarts. */
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
      this.#controller.abort(new Error("timed out"));
    }, limitMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isTimeUp(): boolean {
    return this.#isTimeUp;
  }

  readonly refresh = (): void => {
    this.#timer?.refresh();
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer[Symbol.dispose]();
  }
}
