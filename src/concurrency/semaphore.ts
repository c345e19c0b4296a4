import { onAbort } from "./abort.js";

/** Limits how many tasks run at a time; the others wait in order. */
export class Semaphore {
  readonly #waiting = new Set<() => void>();
  readonly #permits: number;
  #held = 0;

  constructor(permits: number) {
    this.#permits = permits;
  }

  get held(): number {
    return this.#held;
  }

  /** Waits for a permit, to be disposed of; fails with the signal's reason. */
  async acquire(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#held < this.#permits) this.#held += 1;
    else await this.#turn(signal);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release();
        isHeld = false;
      },
    };
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    using _ = await this.acquire();
    return await task();
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        listening[Symbol.dispose]();
        resolve();
      };
      const listening = onAbort(signal, (reason) => {
        this.#waiting.delete(enter);
        reject(reason);
      });
      this.#waiting.add(enter);
    });
  }

  /** The permit passes to the next in line, so that no later caller gets in between. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#held -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
