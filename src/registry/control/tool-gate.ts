import { setTimeout as sleep } from "node:timers/promises";
import { onAbort, unlessAborted } from "../../concurrency/abort.js";
import { Semaphore } from "../../concurrency/semaphore.js";
import { ToolError, type ToolLimits } from "../tool.js";

const DEFAULT_LIMITS = { timeoutMs: 60_000, concurrency: 16, maxResultBytes: 8_000_000 };
const MINUTE_MS = 60_000;
/** Calls beyond the rate wait this long at most. */
const LONGEST_WAIT_MS = 5_000;

/** Holds a tool to its limits, whatever it does. */
export class ToolGate {
  readonly #name: string;
  readonly #limits: ToolLimits & typeof DEFAULT_LIMITS;
  readonly #turns: Semaphore;
  /** When the calls of the last minute began. */
  #begun: number[] = [];

  constructor(name: string, ...limits: readonly (ToolLimits | undefined)[]) {
    this.#name = name;
    const given = limits.map((one) => Object.entries(one ?? {}).filter(([, value]) => value));
    this.#limits = { ...DEFAULT_LIMITS, ...Object.fromEntries(given.flat()) };
    this.#turns = new Semaphore(this.#limits.concurrency);
  }

  get maxResultBytes(): number {
    return this.#limits.maxResultBytes;
  }

  /** Runs a call when its turn comes. One that does not heed its signal is waited for no longer than one that does. */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    await this.#keepRate(signal);
    using _turn = await this.#turns.acquire(signal).catch(() => {
      throw this.#cancelled();
    });
    const own = new AbortController();
    const { timeoutMs } = this.#limits;
    const late = new ToolError("TIMEOUT", `${this.#name} took longer than ${timeoutMs / 1000} s`);
    const timer = setTimeout(() => own.abort(late), timeoutMs);
    using _listening = onAbort(signal, () => own.abort(this.#cancelled()));
    try {
      return await unlessAborted(work(own.signal), own.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #keepRate(signal: AbortSignal): Promise<void> {
    const { callsPerMinute } = this.#limits;
    if (callsPerMinute === undefined) return;
    const now = performance.now();
    this.#begun = this.#begun.filter((begun) => now - begun < MINUTE_MS);
    const first = this.#begun.at(-callsPerMinute);
    const wait = first === undefined ? 0 : first + MINUTE_MS - now;
    if (wait > LONGEST_WAIT_MS) {
      const seconds = Math.ceil(wait / 1000);
      throw new ToolError(
        "RATE_LIMITED",
        `${this.#name} may be called ${callsPerMinute} times a minute; the next call is due in ${seconds} s`,
      );
    }
    this.#begun.push(now + wait);
    if (wait === 0) return;
    await sleep(wait, undefined, { signal }).catch(() => {
      throw this.#cancelled();
    });
  }

  #cancelled(): ToolError {
    return new ToolError("CANCELLED", `${this.#name} was cancelled: nobody waits for it any more`);
  }
}
