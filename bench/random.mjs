/** The same numbers in each run. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed;
  }

  /** From 0 up to, but not including, the limit. */
  below(limit) {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return (this.#state / 2_147_483_647) * limit;
  }

  pick(items) {
    return items[Math.floor(this.below(items.length))];
  }
}
