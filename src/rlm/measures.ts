import { CellarError } from "../errors.js";
import type { Model, ModelUsage } from "./model.js";

/** How much more than is counted here a model may count, where nothing better is known. */
const USUAL_FACTOR = 1.5;
/** What shorter prompts tell of longer ones: a text before each weighs less there. */
const MOST_INHERITED = 2;

interface Measure {
  /** The largest seen of what the model counts, by what is counted here. */
  factor: number;
  /** The largest seen that the model counts beyond that, as a text of its own before each prompt would. */
  extra: number;
}

/** How models count, learned from what they report for prompts of about the same length. */
export class Measures {
  readonly #known = new Map<string, Measure>();
  /** Prompts whose answer will tell; the others of their kind wait for it. */
  readonly #scouts = new Map<string, Promise<void>>();

  /** What a prompt may cost by the model's own count; undefined when nothing tells. */
  most(model: Model, promptTokens: number): number | undefined {
    const own = this.#known.get(kindOf(model, promptTokens));
    if (own !== undefined) {
      return Math.ceil(Math.max(promptTokens * own.factor, promptTokens + own.extra));
    }
    for (let length = lengthOf(promptTokens) - 1; length >= 0; length -= 1) {
      const shorter = this.#known.get(named(model, length));
      if (shorter !== undefined) {
        return Math.ceil(promptTokens * Math.min(shorter.factor, MOST_INHERITED));
      }
    }
    return undefined;
  }

  guess(model: Model, promptTokens: number): number {
    return this.most(model, promptTokens) ?? usualMost(promptTokens);
  }

  learn(model: Model, promptTokens: number, { inputTokens, isEstimate }: ModelUsage): void {
    const kind = kindOf(model, promptTokens);
    const before = this.#known.get(kind) ?? { factor: 1, extra: 0 };
    // An estimate is what was counted here.
    const counted = isEstimate ? promptTokens : inputTokens;
    this.#known.set(kind, {
      factor: Math.max(before.factor, counted / promptTokens),
      extra: Math.max(before.extra, counted - promptTokens),
    });
  }

  /**
   * Of the prompts of a kind that nothing is known of, one goes first. The others wait until it was
   * answered, or has failed: a model that answers nobody is not asked one by one.
   */
  async turn(model: Model, promptTokens: number, signal?: AbortSignal): Promise<Disposable> {
    const kind = kindOf(model, promptTokens);
    if (this.#known.has(kind)) return NOTHING;
    const scout = this.#scouts.get(kind);
    if (scout !== undefined) {
      await unless(signal, scout);
      return NOTHING;
    }
    let finish = () => {};
    this.#scouts.set(
      kind,
      new Promise((resolve) => {
        finish = resolve;
      }),
    );
    return { [Symbol.dispose]: finish };
  }
}

/** What a prompt may cost by the count of a model of which nothing is known. */
export function usualMost(promptTokens: number): number {
  return Math.ceil(promptTokens * USUAL_FACTOR);
}

const NOTHING: Disposable = { [Symbol.dispose]() {} };

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
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new CellarError("ABORTED", "the request was given up"));
    if (signal?.aborted) giveUp();
    signal?.addEventListener("abort", giveUp, { once: true });
    waited.then(() => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    });
  });
}
