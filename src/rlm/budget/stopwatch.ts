/** Time that passes only while somebody is at work. */
export class Stopwatch {
  #spent = 0;
  #since: number | undefined;

  /** Milliseconds. */
  readonly now = (): number =>
    this.#since === undefined ? this.#spent : this.#spent + performance.now() - this.#since;

  run(): Disposable {
    this.#since ??= performance.now();
    return {
      [Symbol.dispose]: () => {
        this.#spent = this.now();
        this.#since = undefined;
      },
    };
  }
}
