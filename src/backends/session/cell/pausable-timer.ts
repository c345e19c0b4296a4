/** What a cell may take: of its own time, and of its host's in all. */
export interface Allowance {
  readonly timeout: number;
  readonly queryTotal: number;
}

/** A time limit that can be held: what the host does for a cell is not the cell's time. */
export class PausableTimer implements Disposable {
  readonly #expire: (limit: keyof Allowance) => void;
  readonly #left: { -readonly [Limit in keyof Allowance]: number };
  #since = 0;
  #holds = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(allowance: Allowance, expire: (limit: keyof Allowance) => void) {
    this.#left = { ...allowance };
    this.#expire = expire;
    this.#run("timeout");
  }

  hold(): void {
    if (this.#holds++ === 0) this.#change("timeout", "queryTotal");
  }

  release(): void {
    if (--this.#holds === 0) this.#change("queryTotal", "timeout");
  }

  [Symbol.dispose](): void {
    this.#holds = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #change(from: keyof Allowance, to: keyof Allowance): void {
    clearTimeout(this.#timer);
    this.#left[from] -= performance.now() - this.#since;
    this.#run(to);
  }

  #run(limit: keyof Allowance): void {
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.#expire(limit), Math.max(0, this.#left[limit]));
  }
}
