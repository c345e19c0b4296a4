import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BodyIntake } from "./body-intake.js";

describe("bodies that are read", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const enterAll = (intake: BodyIntake) => Array.from({ length: 64 }, () => intake.enter());

  it("are so many at a time; the slowest makes room, and nobody who has just come", async () => {
    const intake = new BodyIntake({ limit: 1000 });
    const [first, second] = enterAll(intake);
    expect(() => intake.enter()).toThrow("too many requests");
    vi.advanceTimersByTime(1_000);
    using late = intake.enter();
    await expect(first?.ended).rejects.toMatchObject({ status: 408 });
    second?.[Symbol.dispose]();
    intake.enter()[Symbol.dispose]();
    late.take(1000);
  });

  it("are so long together", async () => {
    const intake = new BodyIntake({ limit: 1000 });
    const [first, second, third, fourth, fifth] = Array.from({ length: 5 }, () => intake.enter());
    for (const each of [first, second, third, fourth]) each?.take(1000);
    expect(() => fifth?.take(1)).toThrow("too many requests");
    vi.advanceTimersByTime(1_000);
    fifth?.take(1);
    await expect(first?.ended).rejects.toMatchObject({ status: 408 });
  });

  it("take no longer than they may", async () => {
    const intake = new BodyIntake({ limit: 1000, patience: 50 });
    using slow = intake.enter();
    using quick = intake.enter();
    quick[Symbol.dispose]();
    vi.advanceTimersByTime(50);
    await expect(slow.ended).rejects.toMatchObject({ status: 408, code: "request_timeout" });
    expect(vi.getTimerCount()).toBe(0);
  });
});
