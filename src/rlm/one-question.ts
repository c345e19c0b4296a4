import { checkNames, checkSignal, type OptionNames, requireOptions } from "../config/kinds.js";
import { sandboxNotice } from "../config/setting-names.js";
import { SESSION_OPTIONS } from "./options.js";
import { noModel } from "./replay/recording.js";
import type { RLMOptions } from "./rlm.js";
import { afterwards, type RLMResult, RLMSession } from "./session.js";

const RLM_OPTIONS: OptionNames<RLMOptions> = {
  query: true,
  output: true,
  signal: true,
  ...SESSION_OPTIONS,
};

/** Opens a session for one question, and closes it. */
export async function askOnce<T = unknown>(options: RLMOptions<T>): Promise<RLMResult<T>> {
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

function checked<T>(options: RLMOptions<T>): RLMOptions<T> {
  const given = requireOptions("the options of rlm", options ?? {}, "{ query, context, model }");
  checkNames("rlm", given, RLM_OPTIONS, sandboxNotice);
  const { query, model, replay, signal } = given;
  checkSignal(signal);
  const hasModel = replay !== undefined || typeof model?.complete === "function";
  if (typeof query === "string" && query.trim() !== "" && hasModel) return options;
  throw noModel();
}
