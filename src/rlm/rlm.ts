import type { AskOptions, RLMSessionOptions } from "./options.js";
import type { RLMResult, RLMSession } from "./session.js";

export type { RLMResult } from "./session.js";

export interface RLMOptions<T = unknown> extends RLMSessionOptions, AskOptions<T> {
  readonly query: string;
}

/** A model answers a question by exploring its context in Python. */
export async function rlm<T = unknown>(options: RLMOptions<T>): Promise<RLMResult<T>> {
  const { askOnce } = await import("./one-question.js");
  return await askOnce(options);
}

/** For several questions about one context. */
rlm.session = async (options: RLMSessionOptions): Promise<RLMSession> => {
  const { RLMSession } = await import("./session.js");
  return await RLMSession.open(options ?? {});
};
