import { describe, expect, it } from "vitest";
import { type Progress, ProgressFeed } from "./progress.js";

function openFeed() {
  const sent: Progress[] = [];
  const feed = new ProgressFeed(async (progress) => {
    sent.push(progress);
  });
  return { feed, sent };
}

describe("the progress of a cell", () => {
  it("comes at once, and all of it before the end", async () => {
    const { feed, sent } = openFeed();
    feed.take("a\n");
    expect(sent).toEqual([{ progress: 2, message: "a\n" }]);
    feed.take("b\n");
    feed.take("c\n");
    await feed[Symbol.asyncDispose]();
    expect(sent).toEqual([
      { progress: 2, message: "a\n" },
      { progress: 6, message: "b\nc\n" },
    ]);
    feed.take("late");
    expect(sent.length).toBe(2);
  });

  it("is small and rare, however much is printed, and tells what it left out", async () => {
    const { feed, sent } = openFeed();
    for (let line = 0; line < 10_000; line++) feed.take(`${"x".repeat(99)}\n`);
    await feed[Symbol.asyncDispose]();
    expect(sent.length).toBeLessThan(10);
    const last = sent.at(-1);
    expect(last?.progress).toBe(1_000_000);
    expect(last?.message).toMatch(/^\[… \d+ characters\]\n/);
    for (const { message } of sent) expect(message.length).toBeLessThan(4_100);
  });

  it("waits for a reader that is slow", async () => {
    let release = () => {};
    const sent: string[] = [];
    const feed = new ProgressFeed(async ({ message }) => {
      sent.push(message);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    feed.take("a");
    await new Promise((resolve) => setTimeout(resolve, 600));
    feed.take("b");
    expect(sent).toEqual(["a"]);
    const ended = feed[Symbol.asyncDispose]();
    release();
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await ended;
    expect(sent).toEqual(["a", "b"]);
  });
});
