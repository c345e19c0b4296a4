/** So many takings in a second, and as many at once after a rest. */
export class Rate {
  readonly #interval: number;
  /** When the last taking was due. */
  #due = 0;

  constructor(perSecond: number) {
    this.#interval = 1000 / perSecond;
  }

  /** Milliseconds until this taking is due; nothing is taken when that is longer than `longest`. */
  take(longest: number, now = performance.now()): number | undefined {
    const due = Math.max(this.#due, now - 1000) + this.#interval;
    if (due - now > longest) return undefined;
    this.#due = due;
    return Math.max(0, due - now);
  }
}
