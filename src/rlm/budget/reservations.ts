import { onAbort } from "../../concurrency/abort.js";
/** What a request under way may use at most. */
export interface Hold {
  readonly tokens: number;
  /** In billionths of a dollar: whole numbers add up without a rest. */
  readonly nanos: number;
}

/** The holds of all requests under way. */
export class Holds {
  readonly #holds = new Set<Hold>();
  readonly #waiting = new Set<() => void>();
  #tokens = 0;
  #nanos = 0;

  get calls(): number {
    return this.#holds.size;
  }

  get tokens(): number {
    return this.#tokens;
  }

  get nanos(): number {
    return this.#nanos;
  }

  add(hold: Hold): void {
    this.#holds.add(hold);
    this.#tokens += hold.tokens;
    this.#nanos += hold.nanos;
  }

  /** Whether it was still held. */
  remove(hold: Hold): boolean {
    if (!this.#holds.delete(hold)) return false;
    this.#tokens -= hold.tokens;
    this.#nanos -= hold.nanos;
    for (const wake of this.#waiting) wake();
    return true;
  }

  /** Resolves when something is given back, or the signal says to stop waiting. */
  changed(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let listening: Disposable | undefined;
      const wake = () => {
        this.#waiting.delete(wake);
        listening?.[Symbol.dispose]();
        resolve();
      };
      this.#waiting.add(wake);
      listening = onAbort(signal, wake);
    });
  }
}
