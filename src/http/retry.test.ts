import { describe, expect, it } from "vitest";
import { HttpFault, type HttpFaultOptions } from "./http-fault.js";
import { LONGEST_PAUSE_MS, pauseBefore, type RetryOptions, retry, retryAfter } from "./retry.js";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const headers = (values: Record<string, string>) => new Headers(values);

describe("retryAfter", () => {
  it.each([
    [{}, undefined],
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": " 0.5 " }, 500],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT" }, 9000],
    [{ "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "7", "retry-after-ms": "30" }, 30],
  ])("reads %j as %s", (values, expected) => {
    expect(retryAfter(headers(values), NOW)).toBe(expected);
  });
});

describe("pauseBefore", () => {
  const many = (next: number, asked: number) =>
    Array.from({ length: 200 }, () => pauseBefore(next, asked, 100));

  it("grows, and differs from call to call", () => {
    for (const next of [1, 2, 3]) {
      const pauses = many(next, 0);
      const full = 100 * 2 ** (next - 1);
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(full / 2);
      expect(Math.max(...pauses)).toBeLessThanOrEqual(full);
      expect(new Set(pauses).size).toBeGreaterThan(100);
    }
  });

  it("is never shorter than asked, nor longer than anyone should wait", () => {
    const pauses = many(1, 5000);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5000);
    expect(new Set(pauses).size).toBeGreaterThan(100);
    expect(Math.max(...many(1, 3_600_000), ...many(60, 0))).toBe(LONGEST_PAUSE_MS);
  });
});

describe("retry", () => {
  const options = (more: Partial<RetryOptions> = {}): RetryOptions => ({
    retries: 3,
    delayMs: 1,
    ...more,
  });
  const failing = (times: number, fault: HttpFaultOptions = { isTransient: true }) => {
    const numbers: number[] = [];
    const attempt = async (number: number) => {
      numbers.push(number);
      if (number <= times) throw new HttpFault(`attempt ${number}`, fault);
      return "well";
    };
    return { attempt, numbers };
  };

  it("makes as many attempts as allowed and fails with the last error", async () => {
    const well = failing(3);
    expect(await retry(well.attempt, options())).toBe("well");
    expect(well.numbers).toEqual([1, 2, 3, 4]);
    await expect(retry(failing(4).attempt, options())).rejects.toThrow("attempt 4");
    await expect(retry(failing(1).attempt, options({ retries: 0 }))).rejects.toThrow("attempt 1");
  });

  it("stops at a permanent failure, at the deadline and when it is cancelled", async () => {
    await expect(retry(failing(9, {}).attempt, options())).rejects.toThrow("attempt 1");
    const refused = options({ canRetry: () => false });
    await expect(retry(failing(9).attempt, refused)).rejects.toThrow("attempt 1");
    const slow = { isTransient: true, pauseMs: 10_000 };
    const late = options({ deadline: Date.now() + 5000 });
    await expect(retry(failing(9, slow).attempt, late)).rejects.toThrow("attempt 1");
    const unwanted = options({ signal: AbortSignal.abort() });
    await expect(retry(failing(9).attempt, unwanted)).rejects.toThrow("attempt 1");
    const controller = new AbortController();
    const waiting = retry(failing(9, slow).attempt, options({ signal: controller.signal }));
    controller.abort();
    await expect(waiting).rejects.toThrow(/aborted|attempt 1/);
  });
});
