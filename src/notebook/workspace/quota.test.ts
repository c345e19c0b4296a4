import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WorkspaceFixture } from "../../../test/support/notebook/workspace-fixture.js";
import { describeOverrun, type Overrun, Quota } from "./quota.js";
import type { Usage } from "./scan.js";

const LIMIT = { bytes: 1024 * 1024, files: 10 };
const usage = (bytes: number, files = 1, isWhole = true): Usage => ({ bytes, files, isWhole });

describe("a quota", () => {
  const quota = new Quota(async () => usage(0), LIMIT);
  const message = (seen: Usage) => {
    const overrun = quota.judge(seen);
    return overrun && describeOverrun(overrun).message;
  };

  it("tells what is too much", () => {
    expect(message(usage(LIMIT.bytes, LIMIT.files))).toBeUndefined();
    expect(message(usage(1.5 * LIMIT.bytes))).toBe("/workspace holds 1.5 MB; it may hold 1 MB");
    expect(message(usage(0, 11))).toBe("/workspace holds 11 files and folders; it may hold 10");
    expect(message(usage(0, 1, false))).toMatch(/too deep/);
    expect(describeOverrun(quota.judge(usage(0, 11)) as Overrun)).toMatchObject({
      name: "WorkspaceQuotaExceeded",
      hint: "delete files you no longer need",
    });
  });
});

describe("a watch over a quota", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("looks every second, calls once when it is too much, and looks no more", async () => {
    const seen = [usage(0), usage(0), usage(2 * LIMIT.bytes), usage(3 * LIMIT.bytes)];
    const look = vi.fn(async () => seen.shift() as Usage);
    const [over, failed] = [vi.fn(), vi.fn()];
    using _watch = new Quota(look, LIMIT).watch(over, failed);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([look.mock.calls.length, over.mock.calls.length]).toEqual([2, 0]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(look).toHaveBeenCalledTimes(3);
    expect(over.mock.calls).toEqual([[{ ...usage(2 * LIMIT.bytes), limit: LIMIT }]]);
    expect(failed).not.toHaveBeenCalled();
  });

  it("never looks twice at a time, and is silent when the cell is over", async () => {
    let answer: (usage: Usage) => void = () => {};
    const signals: AbortSignal[] = [];
    const look = vi.fn((signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<Usage>((resolve) => {
        answer = resolve;
      });
    });
    const [over, failed] = [vi.fn(), vi.fn()];
    const watch = new Quota(look, LIMIT).watch(over, failed);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(look).toHaveBeenCalledTimes(1);
    watch[Symbol.dispose]();
    expect(signals[0]?.aborted).toBe(true);
    answer(usage(2 * LIMIT.bytes));
    await vi.advanceTimersByTimeAsync(5_000);
    expect([look.mock.calls.length, over.mock.calls.length]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tells when it cannot look", async () => {
    const failed = vi.fn();
    const look = () => Promise.reject(new Error("gone"));
    using _watch = new Quota(look, LIMIT).watch(() => {}, failed);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(failed).toHaveBeenCalledTimes(1);
  });
});

describe("the quota of a workspace", () => {
  it("counts bytes and what has a name", async () => {
    using fixture = new WorkspaceFixture(1);
    const workspace = fixture.open();
    mkdirSync(join(workspace.path, "folder"));
    expect(workspace.quota.judge(await workspace.usage())).toBeUndefined();
    writeFileSync(join(workspace.path, "folder", "file"), Buffer.alloc(1024 * 1024, 1));
    const { usage } = await workspace.scan();
    expect(workspace.quota.judge(usage)).toMatchObject({ files: 2, limit: { files: 20_000 } });
  });
});
