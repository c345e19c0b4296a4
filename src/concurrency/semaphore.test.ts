import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore.js";

describe("a semaphore", () => {
  it("lets two at a time, in their order, also after one has failed", async () => {
    const semaphore = new Semaphore(2);
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
    const runs = Array.from({ length: 7 }, (_, number) => semaphore.run(task(number)));
    const ended = await Promise.allSettled(runs);
    expect(ended.filter(({ status }) => status === "fulfilled").length).toBe(6);
    expect([order, most, running]).toEqual([[0, 1, 2, 3, 4, 5, 6], 2, 0]);
  });

  it("forgets a waiting caller whose signal aborts", async () => {
    const semaphore = new Semaphore(1);
    const first = await semaphore.acquire();
    const leaving = new AbortController();
    const second = semaphore.acquire(leaving.signal);
    const third = semaphore.acquire();
    leaving.abort("not any more");
    await expect(second).rejects.toBe("not any more");
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    const last = await third;
    expect(semaphore.held).toBe(1);
    last[Symbol.dispose]();
    expect(semaphore.held).toBe(0);
    await expect(semaphore.acquire(leaving.signal)).rejects.toBe("not any more");
  });
});
