import { describe, expect, it } from "vitest";
import { AdmissionQueue } from "./admission-queue.js";

const never = new AbortController().signal;

describe("the line", () => {
  it("lets so many in at a time, others in their order, and no more than it holds", async () => {
    const line = new AdmissionQueue(1, 2);
    const order: number[] = [];
    const places = [1, 2, 3].map((number) => {
      const place = line.enter();
      return { place, done: place.turn(never).then(() => order.push(number)) };
    });
    expect(() => line.enter()).toThrow("too many requests");
    await places[0]?.done;
    expect({ order: [...order], running: line.running }).toEqual({ order: [1], running: 1 });
    for (const { place, done } of places) {
      await done;
      place[Symbol.dispose]();
      place[Symbol.dispose]();
    }
    expect({ order, running: line.running }).toEqual({ order: [1, 2, 3], running: 0 });
    line.enter()[Symbol.dispose]();
  });

  it("forgets who leaves while waiting", async () => {
    const line = new AdmissionQueue(1, 5);
    const [first, second, third] = [line.enter(), line.enter(), line.enter()];
    await first.turn(never);
    const leaving = new AbortController();
    const left = second.turn(leaving.signal);
    const next = third.turn(never);
    leaving.abort();
    await expect(left).rejects.toThrow("closing");
    second[Symbol.dispose]();
    first[Symbol.dispose]();
    await next;
    expect(line.running).toBe(1);
    await expect(line.enter().turn(leaving.signal)).rejects.toThrow("closing");
  });
});
