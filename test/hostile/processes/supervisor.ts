import { all, ends, prints } from "../expectations.js";
import { losesNothing } from "../more-expectations.js";
import type { ProcessExpectation } from "./trial.js";

const goesOn = all(prints("after\n"), losesNothing);

/** Nothing but error numbers: every way was refused. */
const refusedAll = all(prints(/^(\d+\n)*$/), losesNothing);

/** Every cell of supervisor.json, and what must come of it. */
export const SUPERVISOR: Readonly<Record<string, ProcessExpectation>> = {
  "supervisor-01": goesOn,
  "supervisor-02": prints("after\n"),
  "supervisor-03": goesOn,
  "supervisor-04": goesOn,
  "supervisor-05": refusedAll,
  "supervisor-06": refusedAll,
  "supervisor-07": refusedAll,
  "supervisor-08": refusedAll,
  "supervisor-09": refusedAll,
  "supervisor-10": refusedAll,
  "supervisor-11": refusedAll,
  "supervisor-12": all(prints(/^\['0', '[01]', '[01]'\]\n$/), losesNothing),
  "supervisor-13": all(prints("[]\n"), losesNothing),
  "supervisor-14": { ...ends("ok"), makesAnother: true },
  "supervisor-15": { ...ends("ok"), makesAnother: true },
  "supervisor-16": goesOn,
  "supervisor-17": goesOn,
  "supervisor-18": refusedAll,
};
