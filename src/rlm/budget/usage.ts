import { z } from "zod";
import { isCellarError } from "../../errors.js";
import { addFields } from "../add-fields.js";

export interface TokenUsage {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In dollars, for the calls whose price is known. */
  readonly cost: number;
  /** Calls without a known price. */
  readonly unpriced: number;
  /** What models counted beyond what was reserved for them. */
  readonly overshoot: { readonly tokens: number; readonly dollars: number };
}

/** Whether a loop asks, or the code that it runs. */
export type CallKind = "root" | "sub";

/** Billionths of a dollar: whole numbers, so that sums are exact. */
export const NANOS = 1_000_000_000;

export const NOTHING_USED = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  nanos: 0,
  unpriced: 0,
  overTokens: 0,
  overNanos: 0,
};

type UsageTotals = Readonly<typeof NOTHING_USED>;
export type TotalsByDepth = ReadonlyMap<number, UsageTotals>;

export function sumTotals(used: TotalsByDepth): UsageTotals {
  return [...used.values()].reduce((sum, totals) => addFields(sum, totals), NOTHING_USED);
}

export function usageSince(before: TotalsByDepth, after: TotalsByDepth): TokenUsage {
  return usageOf(addFields(sumTotals(after), sumTotals(before), -1));
}

/** The first loop comes first; depths without a call are left out. */
export function usageByDepthSince(
  before: TotalsByDepth,
  after: TotalsByDepth,
): ReadonlyMap<number, TokenUsage> {
  const depths = [...after]
    .map(([depth, totals]) => {
      return [depth, addFields(totals, before.get(depth) ?? NOTHING_USED, -1)] as const;
    })
    .filter(([, { calls }]) => calls > 0)
    .sort(([one], [other]) => one - other);
  return new Map(depths.map(([depth, totals]) => [depth, usageOf(totals)]));
}

function usageOf({ nanos, overTokens, overNanos, ...counts }: UsageTotals): TokenUsage {
  const overshoot = { tokens: overTokens, dollars: overNanos / NANOS };
  return { ...counts, cost: nanos / NANOS, overshoot };
}

export const lostUsageSchema = z.object({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
});

/** What a failed request cost, where its model reports it. */
export function lostUsageOf(error: unknown): z.infer<typeof lostUsageSchema> | undefined {
  return isCellarError(error) ? lostUsageSchema.safeParse(error.details.usage).data : undefined;
}
