import { cancelledRun, tooMany } from "./http-error.js";

/** A request that was let in. */
export interface Place extends Disposable {
  /** Comes when there is room for its run; fails when the signal does. */
  turn(signal: AbortSignal): Promise<void>;
}

/** So many run at a time, so many wait in order, and others are sent away. */
export class AdmissionQueue {
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

  /** Sends away whom there would be no place for, without taking one. */
  check(): void {
    if (this.#places >= this.#room + this.#length) throw tooMany();
  }

  /** A place for a request that was read; until then it may be anybody's and take for ever. */
  enter(): Place {
    this.check();
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
