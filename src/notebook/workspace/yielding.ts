import { setImmediate } from "node:timers/promises";

/** Milliseconds. */
const SLICE = 2;

/** Yields to the event loop in a long series of synchronous calls. */
export class Yielding {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  get isDue(): boolean {
    return performance.now() - this.#since > SLICE;
  }

  async rest(): Promise<void> {
    this.#signal?.throwIfAborted();
    await setImmediate();
    this.#since = performance.now();
  }
}
