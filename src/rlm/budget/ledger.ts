import { onAbort } from "../../concurrency/abort.js";
import { CellarError } from "../../errors.js";
import { addFields } from "../add-fields.js";
import type { ModelUsage, Price } from "../model.js";
import {
  type Budget,
  BudgetExceeded,
  describeRemaining,
  type Remaining,
  requirePrice,
} from "./budget.js";
import {
  NANOS,
  NOTHING_USED,
  sumTotals,
  type TokenUsage,
  type TotalsByDepth,
  usageByDepthSince,
  usageSince,
} from "./usage.js";

export interface CallPlan {
  /** Counted before the request; what the model counts may differ. */
  readonly promptTokens: number;
  /** Default: what the budget allows, up to `mostTokens`. */
  readonly maxTokens?: number | undefined;
  readonly mostTokens?: number | undefined;
  readonly price?: Price | undefined;
  /** Of the loop; 0 is the first. */
  readonly depth?: number | undefined;
  /** How many such calls are to share what is left, this one with them. Default 1. */
  readonly among?: number | undefined;
  /** A later request that must still fit. */
  readonly followUp?: FollowUp | undefined;
}

/** A request that will follow, such as the one for the answer. */
export interface FollowUp {
  readonly tokens: number;
  readonly price: Price | undefined;
}

export interface Reservation extends Disposable {
  /** What to ask the model for; undefined when no budget limits it. */
  readonly maxTokens: number | undefined;
  settle(usage: Pick<ModelUsage, "inputTokens" | "outputTokens">): void;
  /** Nothing was used. Without effect on what is settled. */
  release(): void;
}

/** An answer shorter than this is not worth its request. */
const FEWEST_TOKENS = 64;
/** More than models write in one go, without being refused by any. */
const USUAL_MOST_TOKENS = 16_384;
/** At most this share of a budget is set aside. */
const MAX_FOLLOW_UP_SHARE = 1 / 4;
/** An answer to a last request has room for this many tokens. */
const LAST_ANSWER_TOKENS = 256;

/** What a tree of loops may use and has used. Reservations count as used until they are settled. */
export class Ledger {
  readonly budget: Budget;
  readonly #now: () => number;
  readonly #start: number;
  #used: TotalsByDepth = new Map();
  readonly #reservations = new Reservations();

  constructor(budget: Budget, now: () => number = () => performance.now()) {
    this.budget = budget;
    this.#now = now;
    this.#start = now();
  }

  /** Takes what a request may use at most, or throws a BudgetExceeded. */
  reserve(plan: CallPlan): Reservation {
    checkPlan(plan);
    requirePrice(this.budget, { name: "the model", price: plan.price });
    this.#requireTime();
    const kept = this.#kept(plan.followUp);
    // A call under way is a call made: there is nothing to wait for.
    this.#require("calls", 1, { left: this.#left("calls"), kept: kept.calls, held: 0 });
    const maxTokens = this.#outputFor(plan, kept);
    const { promptTokens, price } = plan;
    const hold: ReservedAmount = {
      tokens: promptTokens + (maxTokens ?? 0),
      nanos: nanosOf(promptTokens, maxTokens ?? 0, price),
    };
    const tokens = {
      left: this.#left("tokens"),
      kept: kept.tokens,
      held: this.#reservations.tokens,
    };
    this.#require("tokens", hold.tokens, tokens);
    const nanos = { left: this.#leftNanos, kept: kept.nanos, held: this.#reservations.nanos };
    this.#require("dollars", hold.nanos, nanos, NANOS);
    this.#reservations.add(hold);
    return this.#reservation(hold, plan, maxTokens);
  }

  /** Like `reserve`, but waits while reservations of other requests are in the way. */
  async acquire(plan: CallPlan, signal?: AbortSignal): Promise<Reservation> {
    while (true) {
      if (signal?.aborted) throw new CellarError("ABORTED", "the request was cancelled");
      try {
        return this.reserve(plan);
      } catch (error) {
        if (!(error instanceof BudgetExceeded && error.isHeld)) throw error;
      }
      await this.#reservations.changed(signal);
    }
  }

  /** Whether there will not be enough for another such request after this one. */
  isLast({ promptTokens, price }: Pick<CallPlan, "promptTokens" | "price">): boolean {
    const each = promptTokens + LAST_ANSWER_TOKENS;
    return (
      this.#left("calls") < 2 ||
      this.#left("tokens") < 2 * each ||
      this.#leftNanos < 2 * nanosOf(promptTokens, LAST_ANSWER_TOKENS, price)
    );
  }

  /** Whether it matters how many tokens a request takes. */
  get isCounting(): boolean {
    return this.budget.tokens !== undefined || this.budget.dollars !== undefined;
  }

  /** Which part of what is left a prompt would take; 1 is all of it. */
  shareOf({ promptTokens, price }: Pick<CallPlan, "promptTokens" | "price">): number {
    return Math.max(
      promptTokens / this.#left("tokens"),
      nanosOf(promptTokens, 0, price) / this.#leftNanos,
    );
  }

  /** Whether there may be a loop this deep; 0 is the first. */
  allowsDepth(depth: number): boolean {
    return depth <= (this.budget.depth ?? Number.POSITIVE_INFINITY);
  }

  /** Turns are those that a loop has left in the given one, and depth what is below it. */
  remaining({ turn = 1, depth = 0 }: { turn?: number; depth?: number } = {}): Remaining {
    const { budget } = this;
    const dollars = this.#leftNanos / NANOS;
    return {
      ...(budget.dollars === undefined ? {} : { dollars }),
      ...(budget.tokens === undefined ? {} : { tokens: this.#left("tokens") }),
      ...(budget.calls === undefined ? {} : { calls: this.#left("calls") }),
      ...(budget.seconds === undefined ? {} : { seconds: this.#leftSeconds }),
      ...(budget.turns === undefined ? {} : { turns: Math.max(0, budget.turns - turn + 1) }),
      ...(budget.depth === undefined ? {} : { depth: Math.max(0, budget.depth - depth) }),
    };
  }

  /** What is left, for the model to read; empty when nothing is limited. */
  describe(place: { turn?: number; depth?: number } = {}): string {
    return describeRemaining(this.budget, this.remaining(place));
  }

  get usage(): TokenUsage {
    return usageSince(new Map(), this.#used);
  }

  /** Without what deeper loops used; the first has depth 0. */
  get usageByDepth(): ReadonlyMap<number, TokenUsage> {
    return usageByDepthSince(new Map(), this.#used);
  }

  /** A snapshot, for `usageSince`. */
  get used(): TotalsByDepth {
    return this.#used;
  }

  get seconds(): number {
    return (this.#now() - this.#start) / 1000;
  }

  /** The most that an answer may have, so that it fits all budgets. */
  #outputFor({ promptTokens, maxTokens, mostTokens, price, among = 1 }: CallPlan, kept: SetAside) {
    if (maxTokens !== undefined) return maxTokens;
    const rooms = [
      { total: this.#left("tokens") - kept.tokens, prompt: promptTokens, each: 1 },
      {
        total: this.#leftNanos - kept.nanos,
        // Fractions may round up once more in the sum.
        prompt: nanosOf(promptTokens, 0, price) + 1,
        each: (price?.outputPerMillion ?? 0) * 1000,
      },
    ].filter(({ total, each }) => Number.isFinite(total) && each > 0);
    if (rooms.length === 0) return mostTokens;
    const most = mostTokens ?? USUAL_MOST_TOKENS;
    const fitting = rooms.map(({ total, prompt, each }) =>
      Math.floor((total / among - prompt) / each),
    );
    // A share too small for an answer gives way to the fewest tokens, if those are there at all.
    return Math.max(Math.min(most, ...fitting), Math.min(FEWEST_TOKENS, most));
  }

  #reservation(hold: ReservedAmount, plan: CallPlan, maxTokens: number | undefined): Reservation {
    const { depth = 0, price } = plan;
    const settle: Reservation["settle"] = ({ inputTokens, outputTokens }) => {
      const isSound = [inputTokens, outputTokens].every(isCount);
      const [input, output] = isSound
        ? [inputTokens, outputTokens]
        : [plan.promptTokens, maxTokens ?? 0];
      const nanos = nanosOf(input, output, price);
      // Nothing was reserved for an answer of any length.
      const isBound = maxTokens !== undefined;
      if (!this.#reservations.remove(hold)) return;
      const used = addFields(this.#used.get(depth) ?? NOTHING_USED, {
        calls: 1,
        inputTokens: input,
        outputTokens: output,
        nanos,
        unpriced: price === undefined ? 1 : 0,
        overTokens: isBound ? Math.max(0, input + output - hold.tokens) : 0,
        overNanos: isBound || price?.outputPerMillion === 0 ? Math.max(0, nanos - hold.nanos) : 0,
      });
      this.#used = new Map(this.#used).set(depth, used);
      if (!isSound) {
        throw new CellarError(
          "REMOTE_ERROR",
          "the model reported a usage that is not a whole number",
          { remedy: "All that was reserved counts as used." },
        );
      }
    };
    const release = () => {
      this.#reservations.remove(hold);
    };
    return { maxTokens, settle, release, [Symbol.dispose]: release };
  }

  /** At most a share of each budget, so that a small one is not all set aside. */
  #kept(followUp: FollowUp | undefined): SetAside {
    if (followUp === undefined) return { calls: 0, tokens: 0, nanos: 0 };
    const { tokens = 0, dollars = 0, calls = 0 } = this.budget;
    return {
      calls: Math.min(1, Math.floor(calls / 2)),
      tokens: Math.min(followUp.tokens, Math.floor(tokens * MAX_FOLLOW_UP_SHARE)),
      nanos: Math.min(
        nanosOf(followUp.tokens, 0, followUp.price),
        Math.floor(dollars * NANOS * MAX_FOLLOW_UP_SHARE),
      ),
    };
  }

  #require(
    name: "calls" | "tokens" | "dollars",
    needed: number,
    { left, kept, held }: { left: number; kept: number; held: number },
    unit = 1,
  ): void {
    const limit = this.budget[name];
    const free = left - kept;
    if (limit === undefined || needed <= free) return;
    throw new BudgetExceeded(name, {
      left: Math.max(0, free) / unit,
      kept: kept / unit,
      limit,
      needed: needed / unit,
      isHeld: held > 0 && needed <= free + held,
    });
  }

  #requireTime(): void {
    const limit = this.budget.seconds;
    if (limit === undefined || this.#leftSeconds > 0) return;
    throw new BudgetExceeded("seconds", { left: 0, limit, needed: 1 });
  }

  #left(name: "calls" | "tokens"): number {
    const { calls, inputTokens, outputTokens } = sumTotals(this.#used);
    const used =
      name === "calls"
        ? calls + this.#reservations.calls
        : inputTokens + outputTokens + this.#reservations.tokens;
    return Math.max(0, (this.budget[name] ?? Number.POSITIVE_INFINITY) - used);
  }

  get #leftNanos(): number {
    const { dollars } = this.budget;
    if (dollars === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(
      0,
      Math.round(dollars * NANOS) - sumTotals(this.#used).nanos - this.#reservations.nanos,
    );
  }

  get #leftSeconds(): number {
    return Math.max(0, (this.budget.seconds ?? Number.POSITIVE_INFINITY) - this.seconds);
  }
}

interface SetAside {
  readonly calls: number;
  readonly tokens: number;
  readonly nanos: number;
}

/** Rounded up, so that a sum of them is never too small. */
function nanosOf(input: number, output: number, price: Price | undefined): number {
  if (price === undefined) return 0;
  return Math.ceil((input * price.inputPerMillion + output * price.outputPerMillion) * 1000);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function checkPlan({ promptTokens, maxTokens, mostTokens, among }: CallPlan): void {
  const isFit =
    isCount(promptTokens) &&
    [maxTokens, mostTokens, among].every(
      (value) => value === undefined || (isCount(value) && value > 0),
    );
  if (isFit) return;
  throw new CellarError("INVALID_INPUT", "tokens are counted in whole numbers", {
    details: { promptTokens, maxTokens, mostTokens, among },
  });
}

type ReservedAmount = Pick<SetAside, "tokens" | "nanos">;

class Reservations {
  readonly #reservations = new Set<ReservedAmount>();
  readonly #waiting = new Set<() => void>();
  tokens = 0;
  nanos = 0;

  get calls(): number {
    return this.#reservations.size;
  }

  add(hold: ReservedAmount): void {
    this.#reservations.add(hold);
    this.tokens += hold.tokens;
    this.nanos += hold.nanos;
  }

  remove(hold: ReservedAmount): boolean {
    if (!this.#reservations.delete(hold)) return false;
    this.tokens -= hold.tokens;
    this.nanos -= hold.nanos;
    for (const wake of this.#waiting) wake();
    return true;
  }

  /** Resolves when something is given back, or the signal says to stop waiting. */
  changed(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let listening: Disposable | undefined;
      const wake = () => {
        this.#waiting.delete(wake);
        listening?.[Symbol.dispose]();
        resolve();
      };
      this.#waiting.add(wake);
      listening = onAbort(signal, wake);
    });
  }
}
