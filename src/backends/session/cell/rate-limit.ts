/** Limits how many calls start in a second; after a rest as many may start at once. */
export class RateLimit {
  readonly #interval: number;
  /** When the last call was due. */
  #due = 0;

  constructor(perSecond: number) {
    this.#interval = 1000 / perSecond;
  }

  /** Milliseconds until this call is due; undefined, and not counted, where that is over `longest`. */
  take(longest: number, now = performance.now()): number | undefined {
    const due = Math.max(this.#due, now - 1000) + this.#interval;
    if (due - now > longest) return undefined;
    this.#due = due;
    return Math.max(0, due - now);
  }
}
