import { setTimeout as sleep } from "node:timers/promises";

export const LONGEST_PAUSE_MS = 60_000;

export interface RetryOptions {
  /** How often a request is made again that failed for a while only. */
  readonly retries: number;
  /** Doubles with each attempt; at least half of it is waited. */
  readonly delayMs: number;
  readonly signal: AbortSignal;
  /** When there is no time left, as `Date.now()` tells it. */
  readonly deadline: number;
  /** How long to wait before the next attempt at least; nothing when there is to be none. */
  readonly judge: (error: unknown) => number | undefined;
}

/** Tries until it goes well, is given up or does not get better. */
export async function retry<T>(
  attempt: (number: number) => Promise<T>,
  { retries, delayMs, signal, deadline, judge }: RetryOptions,
): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt(number);
    } catch (error) {
      const asked = signal.aborted ? undefined : judge(error);
      if (asked === undefined || number > retries) throw error;
      const pause = pauseBefore(number, asked, delayMs);
      if (Date.now() + pause >= deadline) throw error;
      await sleep(pause, undefined, { signal });
    }
  }
}

/** Nobody waits as long as the others, or all would come back at once. */
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
