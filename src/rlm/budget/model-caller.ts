import { loadTokenizer, type Tokenizer } from "../../agent/observation/tokens.js";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import type { Model, ModelMessage, ModelReply } from "../model.js";
import { costOf } from "../models/prices.js";
import { TOKENS_PER_CONVERSATION, TOKENS_PER_MESSAGE } from "../models/reply-builder.js";
import type { Span } from "../trace/trace.js";
import type { FollowUp, Ledger } from "./ledger.js";
import { defaultEstimate, TokenEstimates } from "./token-estimates.js";
import { type CallKind, lostUsageOf } from "./usage.js";

const NO_TOKENS = { inputTokens: 0, outputTokens: 0 };

/** How much of the rest a prompt may take by its bytes while no model has counted one like it. */
const MOST_UNKNOWN = 1 / 2;
/** How much the first loop's conversation grows from one request to the next. */
const GROWTH_TOKENS = 1_500;

export interface ModelCall {
  readonly model: Model;
  readonly messages: readonly ModelMessage[];
  readonly kind: CallKind;
  readonly depth: number;
  readonly span: Span;
  /** How many such questions may be asked at the same time. */
  readonly among?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends the requests of a whole tree of loops, within its budget and recorded in its trace. */
export class ModelCaller {
  readonly ledger: Ledger;
  readonly #tokenizer: Tokenizer;
  /** A message is counted once, however often it is sent. */
  readonly #counts = new WeakMap<ModelMessage, number>();
  readonly #estimates = new TokenEstimates();
  /** Kept for the next request of the first loop: code must not use it up. */
  #followUp: FollowUp | undefined;
  #calls = 0;

  private constructor(ledger: Ledger, tokenizer: Tokenizer) {
    this.ledger = ledger;
    this.#tokenizer = tokenizer;
  }

  static async open(ledger: Ledger): Promise<ModelCaller> {
    return new ModelCaller(ledger, await loadTokenizer());
  }

  tokensIn(messages: readonly ModelMessage[]): number {
    return messages.reduce(
      (sum, message) => sum + this.#tokensOf(message),
      TOKENS_PER_CONVERSATION,
    );
  }

  #tokensOf(message: ModelMessage): number {
    const known = this.#counts.get(message);
    if (known !== undefined) return known;
    const tokens = this.#tokenizer.count(message.content) + TOKENS_PER_MESSAGE;
    this.#counts.set(message, tokens);
    return tokens;
  }

  /** Whether the budget allows only this one request. */
  isLast(model: Model, messages: readonly ModelMessage[]): boolean {
    const promptTokens = this.#estimates.guess(model, this.tokensIn(messages));
    return this.ledger.isLast({ promptTokens, price: model.price });
  }

  /** The most tokens that the model may count; no model counts more tokens than bytes. */
  #mostOf(model: Model, messages: readonly ModelMessage[], promptTokens: number): number {
    const known = this.#estimates.most(model, promptTokens);
    if (known !== undefined || !this.ledger.isCounting) return known ?? promptTokens;
    const usual = defaultEstimate(promptTokens);
    const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), usual);
    const share = this.ledger.shareOf({ promptTokens: bytes, price: model.price });
    return share <= MOST_UNKNOWN ? bytes : usual;
  }

  async ask({ model, messages, kind, depth, span, among, signal }: ModelCall): Promise<ModelReply> {
    const promptTokens = this.tokensIn(messages);
    const isFirstLoop = kind === "root" && depth === 0;
    const followUp = isFirstLoop ? undefined : this.#followUp;
    using _turn = this.ledger.isCounting
      ? await this.#estimates.turn(model, promptTokens, signal)
      : undefined;
    const most = this.#mostOf(model, messages, promptTokens);
    const plan = { promptTokens: most, price: model.price, depth, among, followUp };
    using held = await this.ledger.acquire(plan, signal);
    const part = span.child();
    const call = String(++this.#calls);
    const bound = held.maxTokens === undefined ? {} : { maxTokens: held.maxTokens };
    part.emit({ type: "model.request", call, model: model.name, promptTokens, ...bound });
    const began = performance.now();
    try {
      const reply = await model.complete({ messages, ...bound, signal });
      const ms = performance.now() - began;
      held.settle(reply.usage);
      this.#estimates.learn(model, promptTokens, reply.usage);
      if (isFirstLoop) {
        // The next prompt is longer, and no model may have counted one of that length.
        const prompt = Math.max(
          this.#estimates.guess(model, promptTokens),
          defaultEstimate(promptTokens),
        );
        const tokens = prompt + reply.usage.outputTokens + GROWTH_TOKENS;
        this.#followUp = { tokens, price: model.price };
      }
      const { text, finish, usage } = reply;
      const cost = model.price === undefined ? null : costOf(usage, model.price);
      part.emit({ type: "model.reply", call, text, finish, usage, cost, ms });
      return reply;
    } catch (error) {
      const ms = performance.now() - began;
      // A failed request counts too, or code could call a broken model forever.
      held.settle(lostUsageOf(error) ?? NO_TOKENS);
      part.emit({ type: "model.failed", call, error: failureOf(error), ms });
      throw signal?.aborted === true ? new CellarError("ABORTED", "the run was cancelled") : error;
    }
  }
}

export function failureOf(error: unknown): { code: string; message: string } {
  return { code: isCellarError(error) ? error.code : "ERROR", message: describeError(error) };
}
