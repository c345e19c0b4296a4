import { expect } from "vitest";
import type { REPLConfig } from "../../../src/index.js";
import { all, ends, prints, timesOut } from "../expectations.js";
import { also, breaksChannel, losesNothing, shows } from "../more-expectations.js";
import type { ProcessExpectation } from "./trial.js";

const BRIEF: REPLConfig = { timeout: 800, grace: 300 };
const ASKED: REPLConfig = { onLLMQuery: () => "answer" };

/** The host passes over it: the cell goes on and nothing is lost. */
const passedOver = all(prints("after\n"), losesNothing);

/** However it ends, the session lives on with its state, or has told the loss. */
const contained: ProcessExpectation = ends("ok", "error", "crashed", "timeout");

const brief: ProcessExpectation = { ...contained, config: BRIEF };

/** The last cell of the session is what it should be, whatever the first one did. */
const own = all(shows("'mine'"), losesNothing);

function refusedTimes(times: number): ProcessExpectation {
  return all(prints("refused\n".repeat(times)), losesNothing);
}

/** The channel was broken, or the cell did nothing that the host could see. */
const broken = Object.fromEntries(
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 27, 31, 32, 33, 38].map(
    (number) => [`head-${String(number).padStart(2, "0")}`, breaksChannel],
  ),
);

/** Every cell of head.json, and what must come of it. */
export const HEAD: Readonly<Record<string, ProcessExpectation>> = {
  ...broken,
  "head-15": passedOver,
  "head-21": timesOut(BRIEF),
  "head-22": timesOut(BRIEF),
  "head-23": passedOver,
  "head-24": passedOver,
  "head-25": all(shows("2"), losesNothing),
  "head-26": all(shows("2"), losesNothing),
  "head-28": also(({ last }) => {
    expect(JSON.stringify(last.error).length).toBeLessThan(1 << 20);
  }),
  "head-29": own,
  "head-30": all(
    passedOver,
    also(({ last }) => expect(JSON.stringify(last.outputs)).not.toContain("FORGED")),
  ),
  "head-34": all(
    passedOver,
    also(({ last }) => expect(last.outputs.length).toBeLessThan(300)),
  ),
  "head-35": all(prints("first\nlast\n"), losesNothing),
  "head-36": refusedTimes(8),
  "head-37": { ...refusedTimes(4), config: ASKED },
  "head-39": { ...all(prints("True True\n"), losesNothing), config: ASKED },
  "head-40": refusedTimes(10),
  "head-41": refusedTimes(2),
  "head-42": all(
    passedOver,
    also(({ last }) => expect(JSON.stringify(last.outputs)).not.toContain("FORGED")),
  ),
  "head-43": refusedTimes(5),
  "head-44": contained,
  "head-45": timesOut(BRIEF),
  "head-46": brief,
  "head-47": brief,
  "head-48": brief,
  "head-49": timesOut(BRIEF),
  "head-50": own,
  "head-51": { ...contained, spoilsSession: true },
  "head-52": own,
  "head-53": brief,
  "head-54": contained,
  "head-55": contained,
  "head-56": brief,
  "head-57": contained,
  "head-58": own,
  "head-59": own,
  "head-60": also(({ last }) => expect(last.stdout.length).toBeLessThan(60_000)),
  "head-61": contained,
  "head-62": all(prints("mine\n"), losesNothing),
  "head-63": contained,
  "head-64": contained,
};
