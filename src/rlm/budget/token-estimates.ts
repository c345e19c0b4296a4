import { unlessAborted } from "../../concurrency/abort.js";
import { CellarError } from "../../errors.js";
import type { Model, ModelUsage } from "../model.js";

/** How many times our count a model may count, until it has reported one. */
const USUAL_FACTOR = 1.5;
/** No language needs more of a model's tokens for each one counted here. */
const MOST_FACTOR = 4;

/** The largest difference between a model's count and the estimate. */
interface Excess {
  readonly promptTokens: number;
  /** What the model counted beyond that. */
  readonly extra: number;
}

/** Learns how models count from what they report for prompts of about the same length. */
export class TokenEstimates {
  readonly #known = new Map<string, Excess>();
  /** Others of the same kind wait for the first answer. */
  readonly #firstCalls = new Map<string, Promise<void>>();

  /** The most tokens that the model may count; undefined if nothing is known. */
  most(model: Model, promptTokens: number): number | undefined {
    // Prompts of the same length predict best, then shorter ones.
    for (let length = lengthOf(promptTokens); length >= 0; length -= 1) {
      const excess = this.#known.get(`${length} ${model.name}`);
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

  /** Of several prompts of an unknown kind, the first goes alone; the others follow when it is done. */
  async turn(model: Model, promptTokens: number, signal?: AbortSignal): Promise<Disposable> {
    const kind = kindOf(model, promptTokens);
    if (this.#known.has(kind)) return NOTHING;
    const first = this.#firstCalls.get(kind);
    if (first !== undefined) {
      const cancelled = () => new CellarError("ABORTED", "the request was cancelled");
      await unlessAborted(first, signal, cancelled);
      return NOTHING;
    }
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    this.#firstCalls.set(kind, finished);
    return { [Symbol.dispose]: finish };
  }
}

/** For a model that has not reported any count. */
export function defaultEstimate(promptTokens: number): number {
  return Math.ceil(promptTokens * USUAL_FACTOR);
}

const NOTHING: Disposable = { [Symbol.dispose]() {} };

/** For a longer prompt the excess grows in proportion; for a shorter one it stays. */
function grown(excess: Excess, promptTokens: number): number {
  const longer = Math.max(0, promptTokens - excess.promptTokens);
  const factor = Math.min(MOST_FACTOR, 1 + excess.extra / excess.promptTokens);
  return Math.ceil(promptTokens + excess.extra + longer * (factor - 1));
}

function kindOf({ name }: Model, promptTokens: number): string {
  return `${lengthOf(promptTokens)} ${name}`;
}

/** Prompts of one length differ by a factor of two at most. */
function lengthOf(promptTokens: number): number {
  return Math.ceil(Math.log2(Math.max(1, promptTokens)));
}
