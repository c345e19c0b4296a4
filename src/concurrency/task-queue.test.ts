import { describe, expect, it } from "vitest";
import { TaskQueue } from "./task-queue.js";

describe("a task queue", () => {
  it("runs one task after the other, also after one that failed", async () => {
    const queue = new TaskQueue();
    const order: string[] = [];
    const task = (name: string) => async () => {
      order.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ends`);
      if (name === "a") throw new Error("failed");
    };
    const first = queue.run(task("a"));
    const second = queue.run(task("b"));
    await expect(first).rejects.toThrow("failed");
    await second;
    expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  it("leaves no unhandled rejection where a caller does not wait", async () => {
    const unhandled: unknown[] = [];
    const hear = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", hear);
    try {
      void new TaskQueue().run(() => Promise.reject(new Error("unheard")));
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      process.off("unhandledRejection", hear);
    }
    expect(unhandled).toEqual([]);
  });
});
