import { readFileSync } from "node:fs";

const BEAT_MS = 20;
/** Of /proc, on every Linux that there is. */
const TICK_MS = 10;

/**
 * How long this process kept its event loop from turning, in processor time: a machine that is busy
 * with something else delays the loop too, and that is no fault of ours.
 */
export class LoopWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #last = spentMs();
  #worst = 0;

  constructor() {
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
    this.#timer.unref();
  }

  /** The longest time between two turns, in milliseconds. */
  get worst(): number {
    this.#beat();
    return this.#worst;
  }

  reset(): void {
    this.#last = spentMs();
    this.#worst = 0;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = spentMs();
    this.#worst = Math.max(this.#worst, now - this.#last);
    this.#last = now;
  }
}

/** What the main thread has used, of its own and of the kernel's. */
function spentMs(): number {
  const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
