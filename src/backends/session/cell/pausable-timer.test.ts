import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PausableTimer } from "./pausable-timer.js";
import { RateLimit } from "./rate-limit.js";

describe("the clock of a cell", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("counts the cell's own time, and what it stands in all", () => {
    const expired: string[] = [];
    using clock = new PausableTimer({ timeout: 100, queryTotal: 1000 }, (limit) =>
      expired.push(limit),
    );
    vi.advanceTimersByTime(60);
    for (let turn = 0; turn < 9; turn += 1) {
      clock.hold();
      clock.hold();
      vi.advanceTimersByTime(100);
      clock.release();
      clock.release();
    }
    expect(expired).toEqual([]);
    clock.hold();
    vi.advanceTimersByTime(100);
    expect(expired).toEqual(["queryTotal"]);
  });

  it("runs out of the cell's own time however often it stood", () => {
    const expired: string[] = [];
    using clock = new PausableTimer({ timeout: 100, queryTotal: 1000 }, (limit) =>
      expired.push(limit),
    );
    for (let turn = 0; turn < 4; turn += 1) {
      vi.advanceTimersByTime(24);
      clock.hold();
      vi.advanceTimersByTime(24);
      clock.release();
    }
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(4);
    expect(expired).toEqual(["timeout"]);
  });

  it("never goes off once it is put away", () => {
    const expired: string[] = [];
    const clock = new PausableTimer({ timeout: 100, queryTotal: 1000 }, (limit) =>
      expired.push(limit),
    );
    clock.hold();
    clock[Symbol.dispose]();
    clock.release();
    clock.hold();
    vi.advanceTimersByTime(5000);
    expect(expired).toEqual([]);
  });
});

describe("the rate of calls", () => {
  it("lets a second's worth pass at once, then one by one, and refuses what would wait long", () => {
    const rate = new RateLimit(100);
    const now = 10_000;
    for (let call = 0; call < 100; call += 1) expect(rate.take(200, now)).toBe(0);
    expect(rate.take(200, now)).toBeCloseTo(10);
    for (let call = 0; call < 19; call += 1) rate.take(200, now);
    expect(rate.take(200, now)).toBeUndefined();
    expect(rate.take(200, now + 10)).toBeCloseTo(200);
    expect(rate.take(200, now + 5000)).toBe(0);
  });
});
