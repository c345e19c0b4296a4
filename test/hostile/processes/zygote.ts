import { expect } from "vitest";
import { all, ends, prints } from "../expectations.js";
import { losesNothing } from "../more-expectations.js";
import { expectTold, type Order, type ProcessExpectation, within } from "./trial.js";

const BRIEF = { timeout: 800, grace: 300 };
const WAIT_MS = 40_000;

const goesOn = all(prints("after\n"), losesNothing);
const refusedAll = all(prints(/^(\d+\n)*$/), losesNothing);
const contained: ProcessExpectation = ends("ok", "crashed", "timeout");

/** A twin leaves the storm that the cell has prepared, and its brother has to be born again. */
function twin(check?: (order: Order) => Promise<void>): ProcessExpectation {
  return {
    ...contained,
    spoilsSession: true,
    after: async (order) => {
      const brother = await within("fork()", WAIT_MS, order.sandbox.fork());
      await within("execute()", WAIT_MS, brother.execute("left(storm_of_twin)"));
      const crash = order.sandbox.execute("import os; os._exit(1)", { timeout: BRIEF.timeout });
      order.runs.push(await within("execute()", WAIT_MS, crash));
      await within("undo()", WAIT_MS, order.sandbox.undo().catch(expectTold));
      await check?.(order);
      await within("destroy()", WAIT_MS, brother.destroy());
    },
  };
}

/** Every cell of zygote.json, and what must come of it. */
export const ZYGOTE: Readonly<Record<string, ProcessExpectation>> = {
  "zygote-01": refusedAll,
  "zygote-02": refusedAll,
  "zygote-03": { ...contained, makesAnother: true },
  "zygote-04": { ...refusedAll, makesAnother: true },
  "zygote-05": refusedAll,
  "zygote-06": refusedAll,
  "zygote-07": refusedAll,
  "zygote-08": all(prints("no\n"), losesNothing),
  "zygote-09": { ...contained, spoilsSession: true },
  "zygote-10": { ...contained, config: BRIEF, spoilsSession: true },
  "zygote-11": twin(),
  "zygote-12": twin(),
  "zygote-13": twin(async ({ sandbox }) => {
    const seen = await sandbox.execute(
      "import os, time\nwhile not os.path.exists('/workspace/seen'): time.sleep(.01)\nprint(open('/workspace/seen').read())",
    );
    expect(seen.stdout).toBe("[]\n");
  }),
  "zygote-14": prints("[]\n"),
  "zygote-15": twin(),
  "zygote-16": { ...goesOn, makesAnother: true },
  "zygote-17": prints("after\n"),
};
