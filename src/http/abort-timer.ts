import { setMaxListeners } from "node:events";

/** A signal that comes with another one, or when nothing was heard for so long. */
export class AbortTimer implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #isTimeUp = false;

  constructor(outer: AbortSignal | undefined, limitMs: number | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.#follow();
    else if (outer !== undefined) {
      // One signal may hold a whole batch, and each call leaves it when it ends.
      setMaxListeners(0, outer);
      outer.addEventListener("abort", this.#follow, { once: true });
    }
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
    this.#outer?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => {
    this.#controller.abort(this.#outer?.reason);
  };
}
