import { unlessAborted } from "../../concurrency/abort.js";
import { checkNames, requireFunction, requireOptions } from "../../config/kinds.js";
import { CellarError, describeError } from "../../errors.js";
import { AbortTimer } from "../../http/abort-timer.js";
import type { Model, ModelReply, ModelRequest, Price } from "../model.js";
import { checkedPrice } from "./prices.js";
import { estimateUsage } from "./reply-builder.js";

export type ModelFunction = (
  request: ModelRequest,
) => string | ModelReply | Promise<string | ModelReply>;

export interface FunctionModelOptions {
  readonly name?: string | undefined;
  readonly contextWindow?: number | undefined;
  readonly price?: Price | undefined;
}

/** If the function returns only a text, its tokens are estimated. */
export function functionModel(answer: ModelFunction, options: FunctionModelOptions = {}): Model {
  requireFunction("the model", answer);
  requireOptions("the options of a model", options);
  checkNames("the model", options, { name: true, contextWindow: true, price: true });
  const { name = answer.name || "function", contextWindow, price } = options;
  return {
    name,
    contextWindow,
    price: checkedPrice(price),
    complete: (request) => complete(name, answer, request),
  };
}

async function complete(
  name: string,
  answer: ModelFunction,
  request: ModelRequest,
): Promise<ModelReply> {
  let isHeard = false;
  using timer = new AbortTimer(request.signal, undefined);
  const { signal } = timer;
  const onText = (piece: string): void => {
    isHeard = true;
    if (!signal.aborted) request.onText?.(piece);
  };
  const given = await untilAborted(async () => answer({ ...request, signal, onText }), signal);
  const reply = await replyOf(name, given, request);
  if (!isHeard && reply.text !== "") onText(reply.text);
  return reply;
}

async function replyOf(
  name: string,
  given: string | ModelReply,
  { messages }: ModelRequest,
): Promise<ModelReply> {
  if (typeof given === "string") {
    const usage = await estimateUsage(messages, given);
    return { text: given, usage, finish: "stop", model: name };
  }
  const text: unknown = given?.text;
  if (typeof text === "string" && given.usage !== undefined) {
    return { ...given, finish: given.finish ?? "stop", model: given.model ?? name };
  }
  throw new CellarError("INVALID_INPUT", `the function of the model ${name} returned no answer`, {
    remedy: "Return a text, or a reply with text and usage.",
  });
}

/** Stops waiting even if the function ignores the signal. */
async function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const givenUp = () =>
    new CellarError("ABORTED", "the request to the model was cancelled", { cause: signal.reason });
  if (signal.aborted) throw givenUp();
  try {
    return await unlessAborted(work(), signal, givenUp);
  } catch (error) {
    if (signal.aborted) throw givenUp();
    if (error instanceof CellarError) throw error;
    throw new CellarError("REMOTE_ERROR", `the model failed: ${describeError(error)}`, {
      cause: error,
    });
  }
}
