import { Semaphore } from "../../concurrency/semaphore.js";
import { cancelledRun, tooMany } from "./http-error.js";

/** A request that was let in. */
export interface Place extends Disposable {
  /** Resolves when its run may start; fails when the signal aborts. */
  turn(signal: AbortSignal): Promise<void>;
}

/** Lets a number of requests run at a time and some more wait in order; refuses the rest. */
export class AdmissionQueue {
  readonly #runs: Semaphore;
  readonly #most: number;
  #places = 0;

  constructor(concurrency: number, length: number) {
    this.#runs = new Semaphore(concurrency);
    this.#most = concurrency + length;
  }

  get running(): number {
    return this.#runs.held;
  }

  /** Fails if the queue is full, without entering it. */
  check(): void {
    if (this.#places >= this.#most) throw tooMany();
  }

  /** Takes a place for a request that has been read: reading may take any client any time. */
  enter(): Place {
    this.check();
    this.#places += 1;
    let run: Disposable | undefined;
    let isOver = false;
    return {
      turn: async (signal) => {
        run = await this.#runs.acquire(signal).catch(() => {
          throw cancelledRun();
        });
      },
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#places -= 1;
        run?.[Symbol.dispose]();
      },
    };
  }
}
