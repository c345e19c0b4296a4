import { describe, expect, it } from "vitest";
import {
  cutAfter,
  type Execution,
  extended,
  heldAt,
  isInEffect,
  marked,
  missing,
  newestInEffect,
  shortened,
  stepsBack,
  withoutRunsOf,
} from "./timeline.js";

const line = (...entries: [number, string, boolean?][]): Execution[] =>
  entries.map(([sequence, cell, isLost]) => ({ sequence, cell, ...(isLost && { isLost }) }));

describe("a timeline", () => {
  it("holds at a point what was in effect up to it", () => {
    expect(heldAt(line([1, "a"], [2, "b", true], [3, "c"], [4, "d"]), 3)).toEqual([1, 3]);
  });

  it("marks what a run went without as lost", () => {
    const before = line([1, "a"], [2, "b"], [3, "c"]);
    expect(extended(before, new Set([1]), { sequence: 4, cell: "d" })).toEqual(
      line([1, "a"], [2, "b", true], [3, "c", true], [4, "d"]),
    );
    // What runs again is not lost any more.
    expect(extended(before, new Set([1]), { sequence: 4, cell: "c" })).toEqual(
      line([1, "a"], [2, "b", true], [4, "c"]),
    );
  });

  it("misses each cell once, by its last run", () => {
    const runs = line([1, "a"], [2, "b"], [3, "c"], [4, "b"]);
    expect(missing(runs, new Set([1]))).toEqual(line([3, "c"], [4, "b"]));
    expect(missing(runs, new Set([1, 2, 3, 4]))).toEqual([]);
    const again = [...runs, { sequence: 5, cell: "c", isUnsaved: true }];
    expect(missing(again, new Set([1, 5]))).toEqual(line([4, "b"]));
    expect(missing(again, new Set([1]))).toEqual(line([3, "c"], [4, "b"]));
  });

  it("goes back from the present to the beginning and not beyond", () => {
    expect([1, 2, 3].map((count) => stepsBack([3, 7], count))).toEqual([3, 0, undefined]);
  });

  it("is cut after a point", () => {
    const { kept, taken } = cutAfter(line([1, "a"], [4, "b"], [6, "a"]), 4, new Set([1, 4, 6]));
    expect([kept, taken]).toEqual([line([1, "a"], [4, "b"]), line([6, "a"])]);
  });

  it("is cut without what the variables do not hold", () => {
    const runs = line([1, "a"], [2, "b"], [3, "c", true], [4, "d"]);
    const { kept, taken } = cutAfter(runs, 1, new Set([1, 2, 4]));
    expect([kept, taken]).toEqual([line([1, "a"], [3, "c", true]), line([2, "b"], [4, "d"])]);
  });

  it("keeps what a deleted cell did, but does not miss it", () => {
    const runs = line([1, "a"], [2, "b"], [3, "a"]);
    expect(withoutRunsOf(runs, "a", new Set([1]))).toEqual(line([1, "a"], [2, "b"]));
  });

  it("knows which points are of it", () => {
    const runs = line([1, "a"], [2, "b", true]);
    expect([1, 2, 3].map((sequence) => isInEffect(runs, sequence))).toEqual([true, false, false]);
  });

  it("holds runs that were not saved, but does not miss them", () => {
    const unsaved = { sequence: 2, cell: "b", isUnsaved: true };
    const runs = marked(line([1, "a"], [3, "c"]), [unsaved]);
    expect(runs).toEqual([{ sequence: 1, cell: "a" }, unsaved, { sequence: 3, cell: "c" }]);
    expect(marked(runs, [unsaved])).toBe(runs);
    expect(heldAt(runs, 3)).toEqual([1, 2, 3]);
    expect(missing(runs, new Set([1]))).toEqual(line([3, "c"]));
    // It is kept as long as the variables hold it, and gone with them.
    const next = { sequence: 4, cell: "d" };
    expect(extended(runs, new Set([1, 2, 3]), next)).toEqual([...runs, next]);
    expect(extended(runs, new Set([1]), next)).toEqual(line([1, "a"], [3, "c", true], [4, "d"]));
    expect(cutAfter(runs, 1, new Set([1, 2, 3])).kept).toEqual(line([1, "a"]));
  });

  it("knows the newest state that would be restored", () => {
    const runs = line([1, "a"], [2, "b"], [3, "c", true]);
    const snapshots = [3, 2, 1].map((sequence) => ({ sequence }));
    expect(newestInEffect(snapshots, runs)).toEqual({ sequence: 2 });
    expect(newestInEffect([], runs)).toBeUndefined();
  });

  it("forgets very old runs, but none that a snapshot or a cell stands on", () => {
    const runs = Array.from({ length: 2_000 }, (_, at): [number, string] => [
      at + 1,
      at === 5 ? "once" : `c${at % 3}`,
    ]);
    const short = shortened(line(...runs), [100]);
    expect(short.length).toBeLessThan(400);
    const sequences = short.map(({ sequence }) => sequence);
    expect(sequences).toEqual(expect.arrayContaining([6, 100, 1_999, 2_000]));
    expect(shortened(line(...runs.slice(0, 50)), [])).toHaveLength(50);
  });
});
