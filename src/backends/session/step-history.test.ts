import { describe, expect, it } from "vitest";
import { StepHistory } from "./step-history.js";

describe("the line of states", () => {
  it("goes back by cells, with what was set between them", () => {
    const line = new StepHistory();
    line.add({ id: 1, cell: 0 });
    line.add({ id: 2, cell: 1 });
    line.add({ id: 3, cell: 2 });
    line.add({ id: 4, cell: 2 });
    line.add({ id: 5, cell: 3 });
    expect(line.before(1)).toEqual({ id: 4, cell: 2 });
    expect(line.before(2)).toEqual({ id: 2, cell: 1 });
    expect(line.before(3)).toEqual({ id: 1, cell: 0 });
    expect(line.before(4)).toBeUndefined();
  });

  it("is cut after a restored step and tells what is gone", () => {
    const line = new StepHistory();
    line.add({ id: 1, cell: 1 });
    line.add({ id: 2, cell: 2 });
    expect(line.cut(1)).toEqual([{ id: 2, cell: 2 }]);
    expect(line.present).toEqual({ id: 1, cell: 1 });
    expect(line.cut(0)).toEqual([{ id: 1, cell: 1 }]);
  });

  it("forgets steps that are long past, not the start", () => {
    const line = new StepHistory();
    for (let id = 1; id <= 5000; id += 1) {
      line.issue(id);
      line.add({ id, cell: id });
      line.parked(id);
    }
    const remembered = line.kept(new Set(Array.from({ length: 5001 }, (_, id) => id)));
    expect(remembered.length).toBeLessThan(500);
    expect(remembered[0]).toEqual({ id: 0, cell: 0 });
    expect(line.before(100)).toEqual({ id: 4900, cell: 4900 });
    // What is forgotten is no start, and is told when it is lost.
    const steps = remembered.length - 1;
    expect([line.before(steps), line.before(5000)]).toEqual([undefined, { id: 0, cell: 0 }]);
    expect(() => line.undoing(steps, new Set())).toThrow(/after cell \d+ is no longer kept/);
    expect(() => line.undoing(5001, new Set())).toThrow("only 5,000 cells can be undone");
    const lost = line.cut(0).map(({ cell }) => cell);
    expect(lost).toEqual(Array.from({ length: 5000 }, (_, index) => index + 1));
    expect(line.cut(0)).toEqual([]);
  });

  it("goes on in a fork, which has none of the states before", () => {
    const line = new StepHistory();
    for (const id of [1, 2, 3]) line.add({ id, cell: id });
    line.add({ id: 4, cell: 3 });
    const fork = line.forked();
    expect([fork.present, fork.unsaved]).toEqual([{ id: 4, cell: 3 }, 3]);
    fork.parked(4);
    expect(fork.unsaved).toBe(0);
    expect([fork.before(1), fork.before(3)]).toEqual([undefined, { id: 0, cell: 0 }]);
    expect(fork.cut(0).map(({ cell }) => cell)).toEqual([1, 2, 3]);
  });

  it("keeps nothing of steps that nobody asked for", async () => {
    const line = new StepHistory({ id: 7, cell: 3 });
    expect(line.parked(7)).toBe(true);
    expect(line.parked(8)).toBe(false);
    expect(await line.untilParked(8, 0)).toBe(false);
    line.issue(9);
    expect(line.parked(9)).toBe(true);
    expect([line.parked(6), line.parked(2 ** 31), line.parked(0)]).toEqual([false, false, true]);
    expect(await line.untilParked(9, 0)).toBe(true);
    line.cut(7);
    expect(await line.untilParked(9, 0)).toBe(false);
  });

  it("knows at once when none will come", async () => {
    const line = new StepHistory();
    line.unparkable(2);
    expect(await line.untilParked(2, 60_000)).toBe(false);
  });

  it("waits for a checkpoint, and not for ever", async () => {
    const line = new StepHistory();
    line.issue(3);
    const made = line.untilParked(3, 5000);
    line.parked(3);
    expect(await made).toBe(true);
    expect(await line.untilParked(4, 1)).toBe(false);
  });
});
