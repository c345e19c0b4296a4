import { expect } from "vitest";
import type { REPLConfig } from "../../../src/index.js";
import { all, ends, prints, timesOut } from "../expectations.js";
import { losesNothing } from "../more-expectations.js";
import { expectTold, type Order, type ProcessExpectation, within } from "./trial.js";

const BRIEF: REPLConfig = { timeout: 800, grace: 300 };
const FORK_MS = 40_000;

const contained: ProcessExpectation = ends("ok", "crashed", "timeout");
const goesOn = all(prints("after\n"), losesNothing);

/** Nothing but error numbers: every way was refused. */
const refusedAll = prints(/^(\d+\n)*$/);

/** Makes the host wake the copy of the present state, whose link the cell has kept. */
async function fork({ sandbox }: Order): Promise<void> {
  const twin = await within("fork()", FORK_MS, sandbox.fork().catch(expectTold));
  if (twin !== undefined) await within("destroy()", FORK_MS, twin.destroy());
}

const forked: ProcessExpectation = { ...contained, after: fork, spoilsSession: true };

function numbered(from: number, to: number, expectation: ProcessExpectation) {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return Object.fromEntries(
    numbers.map((number) => [`parked-${String(number).padStart(2, "0")}`, expectation]),
  );
}

/** Every cell of parked.json, and what must come of it. */
export const PARKED: Readonly<Record<string, ProcessExpectation>> = {
  ...numbered(1, 2, contained),
  "parked-03": timesOut(BRIEF),
  ...numbered(4, 5, contained),
  "parked-06": timesOut(BRIEF),
  ...numbered(7, 12, contained),
  "parked-13": all(timesOut(BRIEF), losesNothing),
  ...numbered(14, 19, contained),
  ...numbered(20, 22, goesOn),
  "parked-23": contained,
  "parked-24": {
    config: BRIEF,
    check: ({ runs, last }) => {
      expect(runs[0]?.status).toBe("timeout");
      expect(last.result).toEqual({ "text/plain": "False" });
    },
  },
  ...numbered(25, 28, goesOn),
  ...numbered(29, 31, contained),
  "parked-32": prints("no\n"),
  ...numbered(33, 43, refusedAll),
  ...numbered(44, 53, forked),
  "parked-54": goesOn,
};
