import { z } from "zod";
import { CellarError } from "../../errors.js";
import { parseJson } from "../../http/endpoint.js";
import type { ServerEvent } from "../../http/event-stream.js";
import { errorIn, HttpFault } from "../../http/http-fault.js";
import type { Model, ModelMessage, ModelReply, ModelRequest } from "../model.js";
import {
  checkModelOptions,
  HttpModel,
  type HttpModelOptions,
  type WireFormat,
} from "./http-model.js";
import type { ReplyBuilder } from "./reply-builder.js";

const VERSION = "2023-06-01";
const MAX_TOKENS = 8192;

export interface AnthropicOptions extends HttpModelOptions {
  /** The protocol wants a number always: this one where a request has none. */
  readonly maxTokens?: number | undefined;
}

const tokens = z.int().nonnegative().nullish().catch(undefined);
const usageSchema = z
  .object({
    input_tokens: tokens,
    cache_creation_input_tokens: tokens,
    cache_read_input_tokens: tokens,
    output_tokens: tokens,
  })
  .nullish()
  .catch(undefined);
const model = z.string().optional().catch(undefined);
const stop_reason = z.string().nullish();
const piece = z.string().optional();

const eventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message_start"),
    message: z.object({ model, usage: usageSchema }),
  }),
  z.object({
    type: z.literal("content_block_start"),
    content_block: z.object({ type: z.string(), text: piece, thinking: piece }),
  }),
  z.object({
    type: z.literal("content_block_delta"),
    delta: z.object({ type: z.string(), text: piece, thinking: piece }),
  }),
  z.object({
    type: z.literal("message_delta"),
    delta: z.object({ stop_reason }),
    usage: usageSchema,
  }),
  z.object({ type: z.literal("message_stop") }),
]);
/** More kinds may come, and are passed over as the protocol asks. */
const KINDS: ReadonlySet<string> = new Set(
  eventSchema.options.map(({ shape }) => shape.type.value),
);
const kindSchema = z.object({ type: z.string() });
const answerSchema = z.object({
  model,
  content: z.array(z.object({ type: z.string(), text: piece, thinking: piece })),
  stop_reason,
  usage: usageSchema,
});

/** Any endpoint that speaks Anthropic's messages; without an address, Anthropic's own. */
export function anthropicMessages(options: AnthropicOptions): Model {
  checkModelOptions("anthropicMessages", options, { maxTokens: true });
  return new HttpModel(new Messages(options), options);
}

class Messages implements WireFormat {
  readonly baseUrl = "https://api.anthropic.com/v1";
  readonly path = "/messages";
  readonly key = { env: "ANTHROPIC_API_KEY" };
  readonly #model: string;
  readonly #maxTokens: number;

  constructor({ model, maxTokens = MAX_TOKENS }: AnthropicOptions) {
    this.#model = model;
    this.#maxTokens = maxTokens;
  }

  headers(key: string | undefined): Record<string, string> {
    return { "anthropic-version": VERSION, ...(key !== undefined && { "x-api-key": key }) };
  }

  buildRequest(request: ModelRequest, isStream: boolean): Record<string, unknown> {
    const { maxTokens = this.#maxTokens, temperature, stop } = request;
    const { system, messages } = apart(request.messages);
    return {
      model: this.#model,
      messages,
      max_tokens: maxTokens,
      stream: isStream,
      ...(system !== "" && { system }),
      ...(temperature !== undefined && { temperature }),
      ...(stop !== undefined && stop.length > 0 && { stop_sequences: stop }),
    };
  }

  readEvent({ data }: ServerEvent, builder: ReplyBuilder): void {
    const told = parseJson(data, "a piece of the answer");
    const fault = errorIn(told);
    if (fault !== undefined) throw fault;
    const kind = kindSchema.safeParse(told).data?.type;
    if (kind !== undefined && !KINDS.has(kind)) return;
    const read = eventSchema.safeParse(told);
    if (!read.success) {
      throw new HttpFault("a piece of the answer is not as it should be", { isTransient: true });
    }
    const event = read.data;
    switch (event.type) {
      case "message_start":
        builder.nameModel(event.message.model);
        // The first word on the tokens of the answer is about its beginning alone.
        charge({ ...event.message.usage, output_tokens: undefined }, builder);
        return;
      case "content_block_start":
        take(event.content_block, builder);
        return;
      case "content_block_delta":
        take(event.delta, builder);
        return;
      case "message_delta":
        charge(event.usage, builder);
        if (event.delta.stop_reason) builder.finish = finishOf(event.delta.stop_reason);
        return;
      case "message_stop":
        builder.isWhole = true;
        return;
      default:
        event satisfies never;
    }
  }

  readAnswer(answer: unknown, builder: ReplyBuilder): void {
    const { data } = answerSchema.safeParse(answer);
    if (data === undefined) throw new HttpFault("the answer is not as it should be");
    builder.nameModel(data.model);
    charge(data.usage, builder);
    for (const block of data.content) take(block, builder);
    builder.finish = finishOf(data.stop_reason ?? "");
  }
}

/** The system's words go apart, turns of one side together, and there are no empty ones. */
function apart(all: readonly ModelMessage[]): { system: string; messages: ModelMessage[] } {
  const told = all.filter(({ content }) => content.trim() !== "");
  const first = told.findIndex(({ role }) => role !== "system");
  const [leading, others] = first < 0 ? [told, []] : [told.slice(0, first), told.slice(first)];
  const messages: ModelMessage[] = [];
  for (const message of others) {
    // Amid the conversation only the two sides can speak.
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = message.content.toWellFormed();
    const last = messages.at(-1);
    if (last?.role !== role) messages.push({ role, content });
    else messages.splice(-1, 1, { role, content: `${last.content}\n\n${content}` });
  }
  if (messages.length > 0) {
    return { system: leading.map(({ content }) => content.toWellFormed()).join("\n\n"), messages };
  }
  throw new CellarError("INVALID_INPUT", "there is no message for the model", {
    remedy: "Give at least one message of the user.",
  });
}

function take(
  block: { type: string; text?: string | undefined; thinking?: string | undefined },
  builder: ReplyBuilder,
): void {
  if (block.type === "text" || block.type === "text_delta") builder.say(block.text);
  else builder.think(block.thinking);
}

/** Tokens from a cache are tokens of the prompt too. */
function charge(usage: z.infer<typeof usageSchema>, builder: ReplyBuilder): void {
  if (!usage) return;
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  const cached = (cache_creation_input_tokens ?? 0) + (cache_read_input_tokens ?? 0);
  const input = input_tokens == null ? undefined : input_tokens + cached;
  builder.charge(input, usage.output_tokens ?? undefined);
}

function finishOf(reason: string): ModelReply["finish"] {
  switch (reason) {
    case "end_turn":
    case "stop_sequence":
      return "stop";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    default:
      return "other";
  }
}
