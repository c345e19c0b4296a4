import { randomUUID } from "node:crypto";
import { plainOf } from "../../agent/observation/plain-value.js";
import type { RLMResult } from "../../rlm/rlm.js";
import { cancelledRun, failedRun } from "./http-error.js";

/** One answer in the form of OpenAI's chat completions. */
export class Completion {
  readonly #id = `chatcmpl-${randomUUID()}`;
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  whole(ended: Ended): object {
    const message = { role: "assistant", content: ended.content, refusal: null };
    const choice = { index: 0, message, finish_reason: ended.finish, logprobs: null };
    const { usage, cellar } = ended;
    return { ...this.#head("chat.completion"), choices: [choice], usage, cellar };
  }

  /** A piece of a stream; `more` are fields beside the choices. */
  chunk(delta: object, finish: Ended["finish"] | null = null, more: object = {}): object {
    const choice = { index: 0, delta, finish_reason: finish, logprobs: null };
    return { ...this.#head("chat.completion.chunk"), choices: [choice], ...more };
  }

  /** The last chunk, if the client asked for it. */
  tally({ usage }: Ended): object {
    return { ...this.#head("chat.completion.chunk"), choices: [], usage };
  }

  #head(object: string): object {
    return { id: this.#id, object, created: this.#created, model: this.#model };
  }
}

/** The response for a run that has ended. */
export interface Ended {
  readonly content: string;
  readonly finish: "stop" | "length";
  readonly usage: object;
  readonly cellar: object;
}

/** A run without any answer to show is thrown as a refusal. */
export function endedAs(result: RLMResult, isJson: boolean): Ended {
  const { status, answer, output, turns, usage, error } = result;
  if (status === "cancelled") throw cancelledRun();
  if (status === "failed") throw failedRun(error);
  const { inputTokens, outputTokens, cost, unpriced } = usage;
  const isData = isJson && status === "answered";
  return {
    content: (isData ? JSON.stringify(plainOf(output).value) : (answer ?? "")).toWellFormed(),
    finish: status === "answered" ? "stop" : "length",
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
    cellar: {
      status,
      turns,
      cost: unpriced > 0 ? null : cost,
      ...(error !== undefined && { error: error.message }),
    },
  };
}
