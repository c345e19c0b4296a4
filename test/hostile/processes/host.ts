import { expect } from "vitest";
import type { REPLConfig } from "../../../src/index.js";
import { all, ends, prints } from "../expectations.js";
import { also, losesNothing } from "../more-expectations.js";
import { expectTold, type Order, type ProcessExpectation, within } from "./trial.js";

const BRIEF: REPLConfig = { timeout: 800, grace: 300 };
const ANSWER_MS = 40_000;
const MOST_CHARACTERS = 32 << 20;

/** Whatever the host gets for these, it is bounded and reaches none of its objects. */
async function askForValues({ sandbox }: Order): Promise<void> {
  const values = [
    await within("getVariable()", ANSWER_MS, sandbox.getVariable("value").catch(expectTold)),
    await within("variables()", ANSWER_MS, sandbox.variables().catch(expectTold)),
    await within("getVariable()", ANSWER_MS, sandbox.getVariable("__proto__").catch(expectTold)),
    await within("getVariable()", ANSWER_MS, sandbox.getVariable("toString").catch(expectTold)),
  ];
  const said = JSON.stringify(values, (_, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value,
  );
  expect(said.length).toBeLessThan(MOST_CHARACTERS);
  expect(said).not.toContain("PWNED");
  expectCleanHost();
}

function expectCleanHost(): void {
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(typeof {}.toString).toBe("function");
}

const asked: ProcessExpectation = { ...ends("ok"), config: BRIEF, after: askForValues };

/** A forged value may be refused with its link, which costs the head but not the state. */
const forged: ProcessExpectation = {
  ...ends("ok", "crashed"),
  after: askForValues,
  spoilsSession: true,
};

const shown = all(
  prints("after\n"),
  losesNothing,
  also(({ last }) => {
    expectCleanHost();
    for (const output of last.outputs) {
      if (output.type !== "display") continue;
      for (const part of [output.data, output.binary, output.metadata])
        expect(Object.getPrototypeOf(part)).toBe(Object.prototype);
    }
    expect(JSON.stringify(last.outputs).length).toBeLessThan(4 << 20);
  }),
);

/** Its time is over when it is over, whatever it sends meanwhile. */
const flood: ProcessExpectation = {
  ...ends("timeout", "crashed"),
  config: { timeout: 1_000, grace: 300 },
};

function numbered(from: number, to: number, expectation: ProcessExpectation) {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return Object.fromEntries(
    numbers.map((number) => [`host-${String(number).padStart(2, "0")}`, expectation]),
  );
}

/** Every cell of host.json, and what must come of it. */
export const HOST: Readonly<Record<string, ProcessExpectation>> = {
  ...numbered(1, 18, asked),
  ...numbered(19, 27, forged),
  ...numbered(28, 29, shown),
  "host-30": all(ends("ok", "crashed"), losesNothing),
  "host-31": shown,
  "host-32": { ...ends("ok", "crashed"), check: () => expectCleanHost() },
  ...numbered(33, 38, flood),
};
