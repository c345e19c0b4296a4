import { setImmediate } from "node:timers/promises";

/** How long work that does not wait may keep others waiting, in milliseconds. */
const SLICE = 2;

/** Lets a long run of quick calls take turns with everything else of the process. */
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
