import { z } from "zod";
import { isCellarError } from "../../errors.js";

/** What requests used. */
export interface TokenUsage {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In dollars, of the calls whose price is known. */
  readonly cost: number;
  /** Calls without a known price. */
  readonly unpriced: number;
  /** What models counted beyond what was reserved for them. */
  readonly overshoot: { readonly tokens: number; readonly dollars: number };
}

export interface Settled {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In billionths of a dollar; undefined without a price. */
  readonly nanos: number | undefined;
  readonly overTokens: number;
  readonly overNanos: number;
}

/** Whether a loop asks, or the code that it runs. */
export type CallKind = "root" | "sub";

const NANOS = 1_000_000_000;

/** Sums of what requests used: of all, and by depth. */
export class UsageTotals {
  readonly #total = new Sum();
  readonly #depths = new Map<number, Sum>();

  add(depth: number, settled: Settled): void {
    const atDepth = this.#depths.get(depth) ?? new Sum();
    this.#depths.set(depth, atDepth);
    for (const sum of [this.#total, atDepth]) sum.add(settled);
  }

  get nanos(): number {
    return this.#total.nanos;
  }

  get total(): TokenUsage {
    return this.#total.usage;
  }

  get byDepth(): ReadonlyMap<number, TokenUsage> {
    const depths = [...this.#depths].sort(([one], [other]) => one - other);
    return new Map(depths.map(([depth, sum]) => [depth, sum.usage]));
  }
}

class Sum {
  #calls = 0;
  #inputTokens = 0;
  #outputTokens = 0;
  #nanos = 0;
  #unpriced = 0;
  #overTokens = 0;
  #overNanos = 0;

  get nanos(): number {
    return this.#nanos;
  }

  add({ inputTokens, outputTokens, nanos, overTokens, overNanos }: Settled): void {
    this.#calls += 1;
    this.#inputTokens += inputTokens;
    this.#outputTokens += outputTokens;
    this.#nanos += nanos ?? 0;
    this.#unpriced += nanos === undefined ? 1 : 0;
    this.#overTokens += overTokens;
    this.#overNanos += overNanos;
  }

  get usage(): TokenUsage {
    return {
      calls: this.#calls,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      cost: this.#nanos / NANOS,
      unpriced: this.#unpriced,
      overshoot: { tokens: this.#overTokens, dollars: this.#overNanos / NANOS },
    };
  }
}

/** What was used from one sum to a later one. */
export function usageSince(before: TokenUsage | undefined, after: TokenUsage): TokenUsage {
  if (before === undefined) return after;
  return {
    calls: after.calls - before.calls,
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    // Both are whole billionths: the rest is rounding error.
    cost: Math.round((after.cost - before.cost) * NANOS) / NANOS,
    unpriced: after.unpriced - before.unpriced,
    overshoot: {
      tokens: after.overshoot.tokens - before.overshoot.tokens,
      dollars: Math.round((after.overshoot.dollars - before.overshoot.dollars) * NANOS) / NANOS,
    },
  };
}

export const lostUsageSchema = z.object({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
});

/** What a failed request cost, where its model reports it. */
export function lostUsageOf(error: unknown): z.infer<typeof lostUsageSchema> | undefined {
  return isCellarError(error) ? lostUsageSchema.safeParse(error.details.usage).data : undefined;
}
