import { setMaxListeners } from "node:events";
import { BudgetExceeded } from "./budget.js";
import type { Ledger } from "./ledger.js";

/** Longer timers would go off at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Ends what is under way when the caller says so, or when the seconds of the budget are over. */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(ledger: Ledger, signal?: AbortSignal) {
    const left = ledger.remaining().seconds;
    const limit = ledger.budget.seconds;
    if (left !== undefined && limit !== undefined) {
      const end = () =>
        this.#own.abort(new BudgetExceeded("seconds", { left: 0, limit, needed: 1 }));
      this.#timer = setTimeout(end, Math.min(left * 1000, LONGEST_MS));
    }
    this.signal = AbortSignal.any([this.#own.signal, ...(signal === undefined ? [] : [signal])]);
    // Every request and cell of the tree listens.
    setMaxListeners(0, this.signal);
  }

  get exceeded(): BudgetExceeded | undefined {
    const { reason } = this.#own.signal;
    return reason instanceof BudgetExceeded ? reason : undefined;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Counts time only while it runs. */
export class Stopwatch {
  #spent = 0;
  #since: number | undefined;

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
