import { expect } from "vitest";
import type { REPLConfig } from "../../../src/index.js";
import { all, ends, prints, timesOut } from "../expectations.js";
import { also, losesNothing, shows } from "../more-expectations.js";
import type { ProcessExpectation } from "./trial.js";

const BRIEF: REPLConfig = { timeout: 800, grace: 300 };

const contained: ProcessExpectation = ends("ok", "error", "crashed", "timeout", "oom");
const brief: ProcessExpectation = { ...contained, config: BRIEF };
const goesOn = all(prints("after\n"), losesNothing);

/** Nothing but error numbers and what is as before: every way was refused. */
const refusedAll = all(prints(/^((\d+|as before)\n)*$/), losesNothing);

/** The first part had to be killed, and nothing of it is left. */
function sweeps(text: string): ProcessExpectation {
  return {
    ...all(
      shows(text),
      also(({ runs }) => expect(runs[0]?.status).toBe("timeout")),
      losesNothing,
    ),
    config: BRIEF,
  };
}

const refusals = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 40, 42, 43, 44, 45];

/** Every cell of init.json, and what must come of it. */
export const INIT: Readonly<Record<string, ProcessExpectation>> = {
  ...Object.fromEntries(
    refusals.map((number) => [`init-${String(number).padStart(2, "0")}`, refusedAll]),
  ),
  "init-18": goesOn,
  "init-19": all(prints(/after\n$/), losesNothing),
  "init-20": all(ends("crashed"), losesNothing),
  "init-21": timesOut(BRIEF),
  "init-22": goesOn,
  "init-23": timesOut(BRIEF),
  "init-24": all(prints(`${"x".repeat(30_000)}\n`), losesNothing),
  "init-25": { ...all(ends("ok"), losesNothing), spoilsSession: true },
  "init-26": all(shows("'mine'"), losesNothing),
  "init-27": goesOn,
  "init-28": ends("crashed"),
  "init-29": sweeps("[]"),
  "init-30": sweeps("False"),
  "init-31": sweeps("[]"),
  "init-32": timesOut(BRIEF),
  "init-33": goesOn,
  "init-34": timesOut(BRIEF),
  "init-35": sweeps("False"),
  "init-36": sweeps("False"),
  "init-37": { ...ends("cancelled", "crashed"), during: "destroy" },
  "init-38": { ...ends("cancelled"), config: { grace: 300 }, during: "cancel" },
  "init-39": all(ends("crashed"), losesNothing),
  "init-41": contained,
  "init-46": brief,
  "init-47": timesOut(BRIEF),
};
