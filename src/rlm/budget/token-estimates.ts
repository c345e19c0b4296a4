import { unlessAborted } from "../../concurrency/abort.js";
import { CellarError } from "../../errors.js";
import type { Model, ModelUsage } from "../model.js";

/** How much more than is counted here a model may count, where nothing better is known. */
const USUAL_FACTOR = 1.5;
/** No language costs a model more for each token that is counted here; what goes beyond is a text of its own. */
const MOST_FACTOR = 4;

/** The largest difference between a model's count and the estimate. */
interface Excess {
  readonly promptTokens: number;
  /** What the model counted beyond that. */
  readonly extra: number;
}

/** How models count, learned from what they report for prompts of about the same length. */
export class TokenEstimates {
  readonly #known = new Map<string, Excess>();
  /** The first prompt of each kind; others of the kind wait for its answer. */
  readonly #firstCalls = new Map<string, Promise<void>>();

  /** What a prompt may cost by the model's own count; undefined when nothing tells. */
  most(model: Model, promptTokens: number): number | undefined {
    // Those of the same length tell best, then those that are a little shorter.
    for (let length = lengthOf(promptTokens); length >= 0; length -= 1) {
      const excess = this.#known.get(named(model, length));
      if (excess !== undefined) return grown(excess, promptTokens);
    }
    return undefined;
  }

  guess(model: Model, promptTokens: number): number {
    return this.most(model, promptTokens) ?? defaultEstimate(promptTokens);
  }

  learn(model: Model, promptTokens: number, { inputTokens, isEstimate }: ModelUsage): void {
    const kind = kindOf(model, promptTokens);
    // An estimate is what was counted here.
    const extra = isEstimate ? 0 : Math.max(0, inputTokens - promptTokens);
    const before = this.#known.get(kind);
    if (before === undefined || extra > before.extra)
      this.#known.set(kind, { promptTokens, extra });
  }

  /**
   * Of the prompts of an unknown kind, one goes first. The others wait until it was answered or failed: a
   * model that is down is not asked one by one.
   */
  async turn(model: Model, promptTokens: number, signal?: AbortSignal): Promise<Disposable> {
    const kind = kindOf(model, promptTokens);
    if (this.#known.has(kind)) return NOTHING;
    const first = this.#firstCalls.get(kind);
    if (first !== undefined) {
      await unless(signal, first);
      return NOTHING;
    }
    let finish = () => {};
    this.#firstCalls.set(
      kind,
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    return { [Symbol.dispose]: finish };
  }
}

/** What a prompt may cost by the count of a model of which nothing is known. */
export function defaultEstimate(promptTokens: number): number {
  return Math.ceil(promptTokens * USUAL_FACTOR);
}

const NOTHING: Disposable = { [Symbol.dispose]() {} };

/** A longer prompt may add in the same measure; a shorter one lacks only its own tokens. */
function grown(excess: Excess, promptTokens: number): number {
  const longer = Math.max(0, promptTokens - excess.promptTokens);
  const factor = Math.min(MOST_FACTOR, 1 + excess.extra / excess.promptTokens);
  return Math.ceil(promptTokens + excess.extra + longer * (factor - 1));
}

function kindOf(model: Model, promptTokens: number): string {
  return named(model, lengthOf(promptTokens));
}

/** Prompts of one length differ by a factor of two at most. */
function lengthOf(promptTokens: number): number {
  return Math.ceil(Math.log2(Math.max(1, promptTokens)));
}

function named({ name }: Model, length: number): string {
  return `${length} ${name}`;
}

function unless(signal: AbortSignal | undefined, waited: Promise<void>): Promise<void> {
  return unlessAborted(
    waited,
    signal,
    () => new CellarError("ABORTED", "the request was cancelled"),
  );
}
