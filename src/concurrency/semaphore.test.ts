import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore.js";

describe("the turnstile", () => {
  it("lets two at a time, in their order, also after one has failed", async () => {
    const turnstile = new Semaphore(2);
    const order: number[] = [];
    let running = 0;
    let most = 0;
    const task = (number: number) => async () => {
      order.push(number);
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (number === 1) throw new Error("failed");
      return number;
    };
    const runs = Array.from({ length: 7 }, (_, number) => turnstile.run(task(number)));
    const ended = await Promise.allSettled(runs);
    expect(ended.filter(({ status }) => status === "fulfilled").length).toBe(6);
    expect([order, most, running]).toEqual([[0, 1, 2, 3, 4, 5, 6], 2, 0]);
  });
});
