import { describe, expect, it } from "vitest";
import { isCellarError } from "../../errors.js";
import { BudgetExceeded, describeRemaining, readBudget, requirePrice } from "./budget.js";

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("a budget", () => {
  it("may be anything or nothing", () => {
    const all = { dollars: 0.05, tokens: 1, calls: 1, seconds: 0.5, turns: 1, depth: 0 };
    expect(readBudget(all)).toEqual(all);
    expect(readBudget(undefined)).toEqual({});
  });

  it.each([
    { dollars: 0 },
    { dollars: -1 },
    { dollars: Number.NaN },
    { dollars: Number.POSITIVE_INFINITY },
    { dollars: "1" },
    { tokens: 1.5 },
    { tokens: 0 },
    { calls: -1 },
    { seconds: 0 },
    { depth: -1 },
    { cents: 5 },
  ])("has to make sense: %j", (budget) => {
    const error = thrown(() => readBudget(budget));
    expect(isCellarError(error, "INVALID_CONFIG") && error.remedy).toContain("dollars, tokens");
  });

  it("in dollars needs prices", () => {
    const error = thrown(() => requirePrice({ dollars: 1 }, { name: "tiny" }));
    expect(isCellarError(error, "INVALID_CONFIG") && error.message).toContain("tiny");
    expect(isCellarError(error) && error.remedy).toContain("inputPerMillion");
    const price = { inputPerMillion: 0, outputPerMillion: 0 };
    expect(() => requirePrice({ dollars: 1 }, { name: "tiny", price })).not.toThrow();
    expect(() => requirePrice({ tokens: 1 }, { name: "tiny" })).not.toThrow();
  });
});

describe("what is left", () => {
  it("is told in a line", () => {
    const budget = { dollars: 1, tokens: 50_000, calls: 20, seconds: 120, turns: 30, depth: 1 };
    const left = { dollars: 0.42, tokens: 12_300, calls: 18, seconds: 95.7, turns: 12, depth: 1 };
    expect(describeRemaining(budget, left)).toBe(
      "Budget left: $0.42 of $1.00, 12,300 of 50,000 tokens, 18 of 20 calls, " +
        "95 of 120 seconds, 12 of 30 turns, 1 of 1 levels below.",
    );
    expect(describeRemaining({}, {})).toBe("");
  });

  it.each([
    [0.1 + 0.2, "$0.30"],
    [0.299999, "$0.299999"],
    [0.2999999, "$0.299999"],
    [1.999, "$1.99"],
    [0.29, "$0.29"],
    [4.35, "$4.35"],
    [0, "$0.00"],
    [0.0000004, "$0.00"],
  ])("never sounds like more than it is: %d", (dollars, text) => {
    expect(describeRemaining({ dollars: 5 }, { dollars })).toBe(`Budget left: ${text} of $5.00.`);
  });
});

describe("a refusal", () => {
  it("names the budget, what is left, and what to do", () => {
    const error = new BudgetExceeded("dollars", { left: 0.001, limit: 1, needed: 0.0123456 });
    expect(error).toMatchObject({ code: "LIMIT_REACHED", budget: "dollars", left: 0.001 });
    expect(error.message).toBe(
      "the budget of dollars does not allow this: $0.001 of $1.00 left, $0.012346 needed",
    );
    expect(error.remedy).toContain("Answer with what is known");
    expect(isCellarError(error, "LIMIT_REACHED")).toBe(true);
  });

  it("says when others hold the rest", () => {
    const held = { left: 0, limit: 100, needed: 70, isHeld: true };
    expect(new BudgetExceeded("tokens", held).remedy).toContain("under way");
  });
});
