import { describe, expect, it } from "vitest";
import { checkedPrice, costOf } from "./prices.js";

const price = { inputPerMillion: 2, outputPerMillion: 8 };

describe("costOf", () => {
  it("is in dollars", () => {
    expect(costOf({ inputTokens: 500_000, outputTokens: 250_000 }, price)).toBe(3);
    expect(costOf({ inputTokens: 0, outputTokens: 0 }, price)).toBe(0);
  });
});

describe("checkedPrice", () => {
  it("lets a price through, free or unknown", () => {
    expect(checkedPrice(price)).toEqual(price);
    expect(checkedPrice({ inputPerMillion: 0, outputPerMillion: 0 })).toBeDefined();
    expect(checkedPrice(undefined)).toBeUndefined();
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("refuses %s dollars", (outputPerMillion) => {
    expect(() => checkedPrice({ ...price, outputPerMillion })).toThrow("invalid price");
  });
});
