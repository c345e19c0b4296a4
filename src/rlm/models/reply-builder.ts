import { loadTokenizer } from "../../agent/observation/tokens.js";
import type { ModelMessage, ModelReply, ModelRequest, ModelUsage } from "../model.js";

/** What models add to the text of a message and of a conversation, approximately. */
export const TOKENS_PER_MESSAGE = 4;
export const TOKENS_PER_CONVERSATION = 3;
const MAX_MODEL_NAME = 200;

export const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0, isEstimate: false };

/** Collects an answer from its pieces. */
export class ReplyBuilder {
  finish: ModelReply["finish"] | undefined;
  /** Whether the end has arrived. */
  isWhole = false;
  readonly #onText: ModelRequest["onText"];
  readonly #text: string[] = [];
  readonly #thoughts: string[] = [];
  #model: string | undefined;
  #input: number | undefined;
  #output: number | undefined;

  constructor(onText?: ModelRequest["onText"]) {
    this.#onText = onText;
  }

  get text(): string {
    return this.#text.join("").toWellFormed();
  }

  /** Whether the model has started, and so has to be paid. */
  get isBegun(): boolean {
    return this.#text.length + this.#thoughts.length > 0 || this.#input !== undefined;
  }

  /** Whether the caller has already got a part of it. */
  get isHeard(): boolean {
    return this.#onText !== undefined && this.#text.length > 0;
  }

  say(piece: string | null | undefined): void {
    if (!piece) return;
    this.#text.push(piece);
    this.#onText?.(piece);
  }

  /** Thoughts are paid for, but not part of the answer. */
  think(piece: string | null | undefined): void {
    if (piece) this.#thoughts.push(piece);
  }

  nameModel(name: string | undefined): void {
    if (name) this.#model = name.slice(0, MAX_MODEL_NAME);
  }

  /** The latest numbers count. */
  charge(input: number | undefined, output: number | undefined): void {
    this.#input = input ?? this.#input;
    this.#output = output ?? this.#output;
  }

  async usage(messages: readonly ModelMessage[]): Promise<ModelUsage> {
    const written = this.#text.join("") + this.#thoughts.join("");
    // A server that reports 0 does not count.
    const input = this.#input || undefined;
    const output = this.isWhole && (this.#output || written === "") ? this.#output : undefined;
    if (input !== undefined && output !== undefined) {
      return { inputTokens: input, outputTokens: output, isEstimate: false };
    }
    const estimate = await estimateUsage(messages, written);
    return {
      inputTokens: input ?? estimate.inputTokens,
      // The count for an answer that broke off may be out of date.
      outputTokens: output ?? Math.max(estimate.outputTokens, this.#output ?? 0),
      isEstimate: true,
    };
  }

  reply(usage: ModelUsage, model: string): ModelReply {
    const { text, finish = "other" } = this;
    return { text, usage, finish, model: this.#model ?? model };
  }
}

export async function estimateUsage(
  messages: readonly ModelMessage[],
  answer: string,
): Promise<ModelUsage> {
  const tokenizer = await loadTokenizer();
  const inputTokens = messages
    .map(({ content }) => tokenizer.count(content) + TOKENS_PER_MESSAGE)
    .reduce((sum, tokens) => sum + tokens, TOKENS_PER_CONVERSATION);
  return { inputTokens, outputTokens: tokenizer.count(answer), isEstimate: true };
}

export function addUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    isEstimate: one.isEstimate || other.isEstimate,
  };
}
