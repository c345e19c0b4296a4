import { describe, expect, it } from "vitest";
import { isCellarError } from "../../errors.js";
import { BudgetExceeded, type BudgetName } from "./budget.js";
import { type CallPlan, Ledger, type Reservation } from "./ledger.js";

const price = { inputPerMillion: 2, outputPerMillion: 10 };
const sub = (promptTokens: number, plan: Partial<CallPlan> = {}): CallPlan => ({
  promptTokens,
  ...plan,
});

function refusal(work: () => unknown): BudgetExceeded {
  try {
    work();
  } catch (error) {
    if (error instanceof BudgetExceeded) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("a reservation", () => {
  it("counts as used until it is settled", () => {
    const ledger = new Ledger({ tokens: 1000, calls: 5 });
    const one = ledger.reserve(sub(100, { maxTokens: 400 }));
    expect(ledger.remaining()).toEqual({ tokens: 500, calls: 4 });
    expect(ledger.usage.calls).toBe(0);
    one.settle({ inputTokens: 100, outputTokens: 50 });
    expect(ledger.remaining()).toEqual({ tokens: 850, calls: 4 });
    expect(ledger.usage).toMatchObject({ calls: 1, inputTokens: 100, outputTokens: 50 });
  });

  it("gives all back when it is released", () => {
    const ledger = new Ledger({ tokens: 1000, calls: 1, dollars: 1 });
    const before = ledger.remaining();
    {
      using one = ledger.reserve(sub(100, { price }));
      expect(ledger.remaining()).not.toEqual(before);
      expect(one.maxTokens).toBe(900);
    }
    expect(ledger.remaining()).toEqual(before);
    expect(ledger.usage.calls).toBe(0);
  });

  it("ends once", () => {
    const ledger = new Ledger({ tokens: 1000 });
    const one = ledger.reserve(sub(100, { maxTokens: 100 }));
    one.settle({ inputTokens: 100, outputTokens: 10 });
    one.settle({ inputTokens: 100, outputTokens: 10 });
    one.release();
    one[Symbol.dispose]();
    expect(ledger.remaining()).toEqual({ tokens: 890 });
    const two = ledger.reserve(sub(100, { maxTokens: 100 }));
    two.release();
    two.settle({ inputTokens: 100, outputTokens: 10 });
    expect(ledger.remaining()).toEqual({ tokens: 890 });
  });

  it.each([
    { promptTokens: -1 },
    { promptTokens: 1.5 },
    { promptTokens: Number.NaN },
    { maxTokens: 0 },
    { mostTokens: -5 },
    { among: 0 },
  ])("is counted in whole numbers: %j", (wrong) => {
    const ledger = new Ledger({ tokens: 1000 });
    expect(() => ledger.reserve(sub(10, wrong))).toThrow("whole numbers");
    expect(ledger.remaining()).toEqual({ tokens: 1000 });
  });
});

describe("the length of an answer", () => {
  it.each<[string, ConstructorParameters<typeof Ledger>[0], Partial<CallPlan>, number | undefined]>(
    [
      ["what is left of the tokens", { tokens: 1000 }, {}, 900],
      ["what the dollars are enough for", { dollars: 0.0102 }, { price }, 999],
      ["the smaller of both", { dollars: 0.0102, tokens: 500 }, { price }, 400],
      ["what the model can write", { tokens: 1000 }, { mostTokens: 300 }, 300],
      ["no more than is usual", { tokens: 1_000_000 }, {}, 16_384],
      ["its share", { tokens: 6400 }, { among: 16 }, 300],
      ["the fewest that make sense", { tokens: 1000 }, { among: 64 }, 64],
      ["as wished", { tokens: 1000 }, { maxTokens: 7 }, 7],
      ["up to the model without a budget", {}, {}, undefined],
      ["up to the model when only calls count", { calls: 2 }, {}, undefined],
    ],
  )("is %s", (_, budget, plan, expected) => {
    expect(new Ledger(budget).reserve(sub(100, plan)).maxTokens).toBe(expected);
  });

  it("has a floor: a call that could say next to nothing is refused", () => {
    const ledger = new Ledger({ tokens: 150 });
    const error = refusal(() => ledger.reserve(sub(100)));
    expect(error).toMatchObject({ budget: "tokens", left: 150, isHeld: false });
    expect(ledger.reserve(sub(86)).maxTokens).toBe(64);
  });
});

describe("a refused call", () => {
  it.each<[BudgetName, ConstructorParameters<typeof Ledger>[0]]>([
    ["tokens", { tokens: 500, calls: 9, dollars: 1 }],
    ["dollars", { tokens: 5000, calls: 9, dollars: 0.004 }],
    ["calls", { tokens: 5000, calls: 1, dollars: 1 }],
  ])("names the budget: %s", (name, budget) => {
    const ledger = new Ledger(budget);
    const plan = sub(100, { maxTokens: 200, price });
    ledger.reserve(plan).settle({ inputTokens: 100, outputTokens: 200 });
    const before = ledger.remaining();
    const error = refusal(() => ledger.reserve(plan));
    expect(error.budget).toBe(name);
    expect(error.message).toContain(`budget of ${name}`);
    expect(error.left).toBe(before[name]);
    expect(ledger.remaining()).toEqual(before);
  });

  it("is refused at once without a price when dollars count", () => {
    const ledger = new Ledger({ dollars: 1 });
    try {
      ledger.reserve(sub(1, { maxTokens: 1 }));
      expect.unreachable();
    } catch (error) {
      expect(isCellarError(error, "INVALID_CONFIG") && error.remedy).toContain("price");
    }
  });

  it("comes when the time is over", () => {
    let now = 5_000;
    const ledger = new Ledger({ seconds: 10 }, () => now);
    now += 9_999;
    ledger.reserve(sub(1)).release();
    expect(ledger.remaining().seconds).toBeCloseTo(0.001);
    now += 1;
    expect(refusal(() => ledger.reserve(sub(1))).budget).toBe("seconds");
    expect(ledger.remaining()).toEqual({ seconds: 0 });
  });
});

describe("turns and depth", () => {
  it("are limits of each loop", () => {
    const ledger = new Ledger({ turns: 2, depth: 1 });
    expect([0, 1, 2].map((depth) => ledger.allowsDepth(depth))).toEqual([true, true, false]);
    expect(ledger.remaining({ turn: 2, depth: 1 })).toEqual({ turns: 1, depth: 0 });
    expect(ledger.describe({ turn: 2, depth: 1 })).toBe(
      "Budget left: 1 of 2 turns, 0 of 1 levels below.",
    );
  });

  it("are free when they were not set", () => {
    const ledger = new Ledger({});
    expect(ledger.allowsDepth(1_000_000)).toBe(true);
    expect(ledger.describe()).toBe("");
  });
});

describe("usage", () => {
  it("is summed by depth and by who asked", () => {
    const ledger = new Ledger({});
    const call = (plan: Partial<CallPlan>) =>
      ledger.reserve(sub(100, plan)).settle({ inputTokens: 100, outputTokens: 10 });
    call({ price });
    call({ price });
    call({ depth: 1, price });
    call({ depth: 1 });
    expect(ledger.usage).toEqual({
      calls: 4,
      inputTokens: 400,
      outputTokens: 40,
      cost: 0.0009,
      unpriced: 1,
      overshoot: { tokens: 0, dollars: 0 },
    });
    expect([...ledger.usageByDepth.keys()]).toEqual([0, 1]);
    expect(ledger.usageByDepth.get(1)).toMatchObject({ calls: 2, cost: 0.0003, unpriced: 1 });
  });

  it("beyond what was reserved is said and counted", () => {
    const ledger = new Ledger({ tokens: 200, dollars: 1 });
    ledger.reserve(sub(100, { price })).settle({ inputTokens: 130, outputTokens: 100 });
    expect(ledger.usage).toMatchObject({ inputTokens: 130, outputTokens: 100 });
    expect(ledger.usage.overshoot).toEqual({ tokens: 30, dollars: 0.00006 });
    expect(ledger.remaining().tokens).toBe(0);
    expect(refusal(() => ledger.reserve(sub(1, { maxTokens: 1, price }))).left).toBe(0);
  });

  it("of a fraction of the smallest unit is rounded up", () => {
    const ledger = new Ledger({ dollars: 1 });
    const cheap = { inputPerMillion: 0.0005, outputPerMillion: 0 };
    ledger.reserve(sub(1, { price: cheap })).settle({ inputTokens: 1, outputTokens: 0 });
    expect(ledger.usage.cost).toBe(1e-9);
  });

  it("that is no count costs all that was reserved", () => {
    const ledger = new Ledger({ tokens: 1000 });
    const one = ledger.reserve(sub(100, { maxTokens: 400 }));
    expect(() => one.settle({ inputTokens: 100, outputTokens: -400 })).toThrow(
      "not a whole number",
    );
    expect(ledger.remaining().tokens).toBe(500);
  });
});

describe("a wide batch", () => {
  it.each([...Array(50).keys()])("never uses more than there is (%d)", (seed) => {
    const random = randomFrom(seed);
    const upTo = (limit: number) => Math.floor(random() * (limit + 1));
    const prices = {
      inputPerMillion: Math.round(random() * 1000) / 100,
      outputPerMillion: Math.round(random() * 3000) / 100,
    };
    const budget = {
      dollars: (1 + upTo(200_000)) / 1_000_000,
      ...(random() < 0.5 ? { tokens: 1 + upTo(60_000) } : {}),
      ...(random() < 0.5 ? { calls: 1 + upTo(80) } : {}),
    };
    const ledger = new Ledger(budget);
    const open: { reservation: Reservation; prompt: number }[] = [];
    const check = () => {
      const { calls, inputTokens, outputTokens, cost, overshoot } = ledger.usage;
      expect(cost).toBeLessThanOrEqual(budget.dollars);
      expect(inputTokens + outputTokens).toBeLessThanOrEqual(budget.tokens ?? Infinity);
      expect(calls).toBeLessThanOrEqual(budget.calls ?? Infinity);
      expect(overshoot).toEqual({ tokens: 0, dollars: 0 });
    };
    for (let step = 0; step < 400; step += 1) {
      if (open.length < 64 && random() < 0.6) {
        const prompt = upTo(800);
        const plan = sub(prompt, {
          price: prices,
          maxTokens: random() < 0.5 ? 1 + upTo(1500) : undefined,
          among: 1 + upTo(63),
        });
        try {
          open.push({ reservation: ledger.reserve(plan), prompt });
        } catch (error) {
          const { budget: name, left } = error as BudgetExceeded;
          expect(error).toBeInstanceOf(BudgetExceeded);
          expect(left).toBe(ledger.remaining()[name]);
        }
      } else if (open.length > 0) {
        const [one] = open.splice(upTo(open.length - 1), 1);
        if (one === undefined) continue;
        const { reservation, prompt } = one;
        const most = reservation.maxTokens ?? 0;
        if (random() < 0.1) reservation.release();
        else {
          const outputTokens = random() < 0.5 ? most : upTo(most);
          reservation.settle({ inputTokens: prompt, outputTokens });
        }
      }
      check();
    }
    for (const { reservation, prompt } of open) {
      reservation.settle({ inputTokens: prompt, outputTokens: reservation.maxTokens ?? 0 });
    }
    check();
  });

  it("fits to the last token when every answer is as long as it may be", () => {
    const ledger = new Ledger({ tokens: 64_000, dollars: 0.7 });
    const open = [...Array(64).keys()].map((index) =>
      ledger.reserve(sub(100, { price, among: 64 - index })),
    );
    expect(new Set(open.map(({ maxTokens }) => maxTokens))).toEqual(new Set([900]));
    for (const { settle } of open) settle({ inputTokens: 100, outputTokens: 900 });
    expect(ledger.remaining().tokens).toBe(0);
    expect(ledger.usage.cost).toBeCloseTo(0.5888, 9);
  });

  it("waits for what others hold, and all of it gets through that can", async () => {
    const ledger = new Ledger({ tokens: 4000 });
    let most = 0;
    let running = 0;
    const answered = await Promise.allSettled(
      [...Array(64).keys()].map(async (index) => {
        const reservation = await ledger.acquire(sub(10, { maxTokens: 990 }));
        running += 1;
        most = Math.max(most, running);
        for (let turn = 0; turn < (index * 7) % 5; turn += 1) await Promise.resolve();
        running -= 1;
        reservation.settle({ inputTokens: 10, outputTokens: 10 });
      }),
    );
    expect(answered.filter(({ status }) => status === "fulfilled")).toHaveLength(64);
    expect([2, 3, 4]).toContain(most);
    expect(ledger.usage).toMatchObject({ calls: 64, inputTokens: 640, outputTokens: 640 });
  });

  it("does not wait for what will never be there", async () => {
    const ledger = new Ledger({ tokens: 1000, calls: 2 });
    const one = ledger.reserve(sub(10, { maxTokens: 100 }));
    await expect(ledger.acquire(sub(10, { maxTokens: 2000 }))).rejects.toThrow("budget of tokens");
    const waiting = ledger.acquire(sub(10, { maxTokens: 950 }));
    one.settle({ inputTokens: 10, outputTokens: 100 });
    await expect(waiting).rejects.toThrow("budget of tokens");
    ledger.reserve(sub(1, { maxTokens: 1 }));
    await expect(ledger.acquire(sub(1, { maxTokens: 1 }))).rejects.toThrow("budget of calls");
  });

  it("stops waiting when it is told to", async () => {
    const ledger = new Ledger({ tokens: 1000 });
    const one = ledger.reserve(sub(10, { maxTokens: 990 }));
    const abort = new AbortController();
    const waiting = ledger.acquire(sub(10), abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: "ABORTED" });
    one.release();
    expect(ledger.remaining().tokens).toBe(1000);
  });
});
