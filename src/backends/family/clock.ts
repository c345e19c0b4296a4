/** A time limit that can be held: what the host does for a cell is not the cell's time. */
export class Clock implements Disposable {
  readonly #expire: () => void;
  #left: number;
  #since = 0;
  #holds = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, expire: () => void) {
    this.#left = milliseconds;
    this.#expire = expire;
    this.#run();
  }

  hold(): void {
    if (this.#holds++ > 0) return;
    clearTimeout(this.#timer);
    this.#left -= performance.now() - this.#since;
  }

  release(): void {
    if (--this.#holds === 0) this.#run();
  }

  [Symbol.dispose](): void {
    this.#holds = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #run(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#left));
  }
}
