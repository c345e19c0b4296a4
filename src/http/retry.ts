import { setTimeout as sleep } from "node:timers/promises";
import { HttpFault } from "./http-fault.js";

export const LONGEST_PAUSE_MS = 60_000;

export interface RetryOptions {
  /** How many more attempts follow a transient failure. */
  readonly retries: number;
  /** Doubles with each attempt; the pause is at least half of it. */
  readonly delayMs: number;
  readonly signal?: AbortSignal | undefined;
  /** No pause may end after this time, as `Date.now()` counts. */
  readonly deadline?: number | undefined;
  readonly canRetry?: (() => boolean) | undefined;
}

/** Repeats an attempt that fails with a transient `HttpFault`. */
export async function retry<T>(
  attempt: (number: number) => Promise<T>,
  { retries, delayMs, signal, deadline = Number.POSITIVE_INFINITY, canRetry }: RetryOptions,
): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt(number);
    } catch (error) {
      const isTransient = error instanceof HttpFault && error.isTransient;
      if (!isTransient || number > retries || signal?.aborted || canRetry?.() === false)
        throw error;
      const pause = pauseBefore(number, error.pauseMs ?? 0, delayMs);
      if (Date.now() + pause >= deadline) throw error;
      await sleep(pause, undefined, signal && { signal });
    }
  }
}

/** Random, so that callers do not all return at once. */
export function pauseBefore(next: number, askedMs: number, delayMs: number): number {
  const backoff = Math.min(delayMs * 2 ** (next - 1), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
  const asked = askedMs + Math.random() * delayMs;
  return Math.min(askedMs > 0 ? Math.max(asked, backoff) : backoff, LONGEST_PAUSE_MS);
}

/** Milliseconds, from seconds or a date. */
export function retryAfter(headers: Pick<Headers, "get">, now = Date.now()): number | undefined {
  const precise = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (precise >= 0) return precise;
  const text = headers.get("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  const milliseconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}
