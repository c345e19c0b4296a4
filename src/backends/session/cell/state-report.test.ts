import { describe, expect, it } from "vitest";
import type { Branch } from "../branch.js";
import { StepHistory } from "../step-history.js";
import { joinReports, restoredState, seenState, UNSEEN } from "./state-report.js";

function history(...cells: readonly number[]): StepHistory {
  const line = new StepHistory();
  cells.forEach((cell, index) => {
    line.add({ id: index + 1, cell });
  });
  return line;
}

describe("what is said of a state that was restored", () => {
  it("names cells that are lost", () => {
    expect(restoredState(history(1, 2, 3), 1, [])).toMatchObject({
      survived: false,
      lostCells: [2, 3],
      reason: "restored the state after cell 1; lost what these cells did: 2, 3",
    });
    expect(restoredState(history(1, 2), 2, [])).toEqual({ survived: true, checkpoint: 2 });
  });

  it("tells the loss of what was set from outside, which belongs to no cell", () => {
    const report = restoredState(history(1, 1), 1, []);
    expect(report).toEqual({
      survived: false,
      checkpoint: 1,
      reason: "restored the state after cell 1; lost what was set since",
    });
  });

  it("counts no context as lost, which an empty session gets again", () => {
    const line = new StepHistory();
    line.add({ id: 1, cell: 0 }, true);
    expect(restoredState(line, 0, [])).toEqual({ survived: true, checkpoint: 0 });
  });

  it("keeps the lost cells where the process that has it is not seen", async () => {
    const line = history(1, 2);
    const report = restoredState(line, 1, []);
    const branch = { line, isThere: async () => false } as unknown as Branch;
    const seen = await seenState(branch, report, Promise.resolve());
    expect(seen).toMatchObject({ survived: false, lostCells: [2] });
    expect(seen.reason).toContain(UNSEEN);
    // The same happens to the next ones, which go back further.
    const next = await seenState(branch, restoredState(line, 0, []), Promise.resolve());
    expect(joinReports(joinReports(seen, next), next)).toMatchObject({
      lostCells: [1, 2],
      reason: `restored the state after cell 1; lost what these cells did: 2; ${UNSEEN}; restored an empty session; lost what these cells did: 1`,
    });
  });
});
