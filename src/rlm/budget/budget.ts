import { z } from "zod";
import { invalidOptions } from "../../config/problems.js";
import { CellarError } from "../../errors.js";
import type { Model } from "../model.js";

const count = z.int().positive();
const amount = z.number().positive().max(1_000_000);

export const budgetSchema = z.strictObject({
  /** Of all requests of the whole tree. Every model needs a price. */
  dollars: amount.optional(),
  /** Of prompts and answers together. */
  tokens: count.optional(),
  /** Requests to models. */
  calls: count.optional(),
  /** From the start of the run. */
  seconds: amount.optional(),
  /** Of each loop of its own. */
  turns: count.optional(),
  /** Loops below the first; 0: none. */
  depth: z.int().min(0).optional(),
});

export type Budget = z.output<typeof budgetSchema>;
export type BudgetName = keyof Budget;
export type Remaining = { readonly [Name in BudgetName]?: number };

export const BUDGET_NAMES: readonly BudgetName[] = Object.freeze([
  "dollars",
  "tokens",
  "calls",
  "seconds",
  "turns",
  "depth",
]);

const UNITS: Readonly<Record<BudgetName, string>> = {
  dollars: "",
  tokens: " tokens",
  calls: " calls",
  seconds: " seconds",
  turns: " turns",
  depth: " levels below",
};

/** A request was rejected because the rest of the budget does not cover it. */
export class BudgetExceeded extends CellarError {
  readonly budget: BudgetName;
  readonly left: number;
  /** What others have reserved would be enough, should they not use it. */
  readonly isHeld: boolean;

  constructor(
    budget: BudgetName,
    {
      left,
      limit,
      needed,
      kept = 0,
      isHeld = false,
    }: {
      left: number;
      limit: number;
      needed: number;
      /** For the request that asks for the answer. */
      kept?: number;
      isHeld?: boolean;
    },
  ) {
    const beside = kept === 0 ? "" : ` beside ${show(budget, kept)} kept for the answer`;
    const rest = `${show(budget, left)} of ${show(budget, limit)} left${beside}`;
    const wish = `${show(budget, needed, Math.ceil)} needed`;
    super("LIMIT_REACHED", `the budget of ${budget} does not allow this: ${rest}, ${wish}`, {
      remedy: isHeld
        ? "Requests under way hold the rest. Ask again when they are done, or ask for less."
        : `Answer with what is known by now, ask for less, or set a larger budget of ${budget}.`,
      details: { budget, left, limit, needed },
    });
    this.budget = budget;
    this.left = left;
    this.isHeld = isHeld;
  }
}

export function readBudget(value: unknown): Budget {
  const parsed = budgetSchema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  throw invalidOptions("invalid budget", parsed.error.issues, {
    input: value,
    known: BUDGET_NAMES,
    remedy: `A budget can have ${BUDGET_NAMES.join(", ")}.`,
  });
}

export function requirePrice(budget: Budget, { name, price }: Pick<Model, "name" | "price">): void {
  if (budget.dollars === undefined || price !== undefined) return;
  throw new CellarError(
    "INVALID_CONFIG",
    `the budget is in dollars, but the price of ${name} is not known`,
    {
      remedy:
        "Give the model a price { inputPerMillion, outputPerMillion }, or set a budget of tokens.",
      details: { model: name },
    },
  );
}

/** What is left, in a line for the model; empty without a budget. */
export function describeRemaining(budget: Budget, remaining: Remaining): string {
  const parts = BUDGET_NAMES.flatMap((name) => {
    const [limit, left] = [budget[name], remaining[name]];
    if (limit === undefined || left === undefined) return [];
    return [`${show(name, left)} of ${show(name, limit)}${UNITS[name]}`];
  });
  return parts.length === 0 ? "" : `Budget left: ${parts.join(", ")}.`;
}

/** Rounded so that it never promises more than there is. */
function show(name: BudgetName, value: number, round = Math.floor): string {
  if (name !== "dollars") return round(value).toLocaleString("en-US");
  const digits = value >= 1 || value === 0 ? 2 : 6;
  // Binary fractions are off by less than this in the last digit.
  const hair = round === Math.floor ? 1e-6 : -1e-6;
  const text = (round(value * 10 ** digits + hair) / 10 ** digits).toFixed(digits);
  return `$${text.replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}
