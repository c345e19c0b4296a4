import { checkNames, checkSignal, type OptionNames, requireOptions } from "../config/kinds.js";
import { sandboxNotice } from "../config/setting-names.js";
import { type AskOptions, type RLMSessionOptions, SESSION_OPTIONS } from "./options.js";
import { noModel } from "./replay/recording.js";
import { afterwards, type RLMResult, RLMSession } from "./session.js";

export type { RLMResult } from "./session.js";

export interface RLMOptions<T = unknown> extends RLMSessionOptions, AskOptions<T> {
  readonly query: string;
}

const RLM_OPTIONS: OptionNames<RLMOptions> = {
  query: true,
  output: true,
  signal: true,
  ...SESSION_OPTIONS,
};

/** A model answers a question by exploring its context in Python. */
export async function rlm<T = unknown>(options: RLMOptions<T>): Promise<RLMResult<T>> {
  const { query, output, signal, ...rest } = checked(options);
  const session = await RLMSession.open(rest);
  let result: RLMResult<T>;
  try {
    result = await session.ask(query, { output, signal });
  } catch (error) {
    await session.close().catch(() => {});
    throw error;
  }
  return await afterwards(result, () => session.close());
}

/** For several questions about one context. */
rlm.session = (options: RLMSessionOptions): Promise<RLMSession> => RLMSession.open(options ?? {});

function checked<T>(options: RLMOptions<T>): RLMOptions<T> {
  const given = requireOptions("the options of rlm", options ?? {}, "{ query, context, model }");
  checkNames("rlm", given, RLM_OPTIONS, sandboxNotice);
  const { query, model, replay, signal } = given;
  checkSignal(signal);
  const hasModel = replay !== undefined || typeof model?.complete === "function";
  if (typeof query === "string" && query.trim() !== "" && hasModel) return options;
  throw noModel();
}
