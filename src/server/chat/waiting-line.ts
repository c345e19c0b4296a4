import { cancelledRun, Refusal } from "./refusal.js";

const RETRY_AFTER_SECONDS = 5;

/** A request that was let in. */
export interface Place extends Disposable {
  /** Comes when there is room for its run; fails when the signal does. */
  turn(signal: AbortSignal): Promise<void>;
}

/** So many run at a time, so many wait in order, and others are sent away. */
export class WaitingLine {
  readonly #room: number;
  readonly #length: number;
  readonly #waiting: Array<() => void> = [];
  #running = 0;
  #places = 0;

  constructor(room: number, length: number) {
    this.#room = room;
    this.#length = length;
  }

  get running(): number {
    return this.#running;
  }

  /** A place before the request is even read: what waits is bounded in memory too. */
  enter(): Place {
    if (this.#places >= this.#room + this.#length) {
      throw new Refusal(429, "too many questions are under way; ask again later", {
        code: "rate_limit_exceeded",
        headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
      });
    }
    this.#places += 1;
    let hasTurn = false;
    let isOver = false;
    return {
      turn: async (signal) => {
        await this.#wait(signal);
        hasTurn = true;
      },
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#places -= 1;
        if (hasTurn) this.#next();
      },
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(cancelledRun());
    if (this.#running < this.#room) {
      this.#running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(come), 1);
        reject(cancelledRun());
      };
      const come = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      this.#waiting.push(come);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** The room goes from one to the next, so that nobody comes between. */
  #next(): void {
    const come = this.#waiting.shift();
    if (come === undefined) this.#running -= 1;
    else come();
  }
}
