import { expect } from "vitest";
import type { REPLConfig } from "../../../src/index.js";
import { all, ends, prints, timesOut } from "../expectations.js";
import { also, breaksChannel, losesNothing } from "../more-expectations.js";
import type { ProcessExpectation } from "./trial.js";

const BRIEF: REPLConfig = { timeout: 800, grace: 300 };
const goesOn = all(prints("after\n"), losesNothing);

/** Every cell of daemon.json, and what must come of it. */
export const DAEMON: Readonly<Record<string, ProcessExpectation>> = {
  "daemon-01": timesOut(BRIEF),
  "daemon-02": ends("ok", "crashed"),
  "daemon-03": all(prints(/^(\d+\n)*$/), losesNothing),
  "daemon-04": also(({ last }) => {
    expect(last.status).toBe("ok");
    expect([last.stdout, last.stderr]).toEqual([".".repeat(10_000), ".".repeat(10_000)]);
  }),
  "daemon-05": breaksChannel,
  "daemon-06": all(
    goesOn,
    also(({ last }) => {
      for (const output of last.outputs) {
        if (output.type !== "display") continue;
        for (const part of [output.data, output.binary])
          expect(Object.getPrototypeOf(part)).toBe(Object.prototype);
      }
    }),
  ),
  "daemon-07": also(({ last }) => {
    expect(JSON.stringify(last.error).length).toBeLessThan(1 << 20);
  }),
  "daemon-08": goesOn,
  "daemon-09": { ...goesOn, config: { onLLMQuery: () => "answer" } },
  "daemon-10": { ...ends("cancelled", "crashed"), during: "destroy" },
  "daemon-11": { ...ends("cancelled"), config: { grace: 300 }, during: "cancel" },
  "daemon-12": all(ends("crashed"), losesNothing),
};
