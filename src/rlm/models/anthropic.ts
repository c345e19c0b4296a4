import { z } from "zod";
import { CellarError } from "../../errors.js";
import type { Model, ModelMessage, ModelReply, ModelRequest } from "../model.js";
import {
  checkAnswer,
  checkModelOptions,
  HttpModel,
  type HttpModelOptions,
  readPiece,
  type WireFormat,
} from "./http-model.js";
import type { ReplyBuilder } from "./reply-builder.js";

const VERSION = "2023-06-01";
const MAX_TOKENS = 8192;

export interface AnthropicOptions extends HttpModelOptions {
  /** For requests without a limit, because the protocol requires one. Default: 8192. */
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
const KINDS: ReadonlySet<string> = new Set(
  eventSchema.options.map(({ shape }) => shape.type.value),
);
/** The protocol may add more types of events, which clients must ignore. */
const unknownSchema = z
  .object({ type: z.string().refine((type) => !KINDS.has(type)) })
  .transform(() => ({ type: "unknown" as const }));
const pieceSchema = z.union([eventSchema, unknownSchema]);
const answerSchema = z.object({
  model,
  content: z.array(z.object({ type: z.string(), text: piece, thinking: piece })),
  stop_reason,
  usage: usageSchema,
});

/** An endpoint with Anthropic's messages API. Default: Anthropic itself. */
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
    const { system, messages } = splitMessages(request.messages);
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

  readEvent(data: string, builder: ReplyBuilder): void {
    const event = readPiece(data, pieceSchema);
    switch (event.type) {
      case "message_start":
        builder.nameModel(event.message.model);
        // This count of output tokens covers only the beginning.
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
      case "unknown":
        return;
      default:
        event satisfies never;
    }
  }

  readAnswer(answer: unknown, builder: ReplyBuilder): void {
    const { model, usage, content, stop_reason } = checkAnswer(answer, answerSchema);
    builder.nameModel(model);
    charge(usage, builder);
    for (const block of content) take(block, builder);
    builder.finish = finishOf(stop_reason ?? "");
  }
}

/** The protocol takes the system prompt separately, and no empty messages or two of one role in a row. */
function splitMessages(all: readonly ModelMessage[]): { system: string; messages: ModelMessage[] } {
  const filled = all.filter(({ content }) => content.trim() !== "");
  const first = filled.findIndex(({ role }) => role !== "system");
  const [leading, others] =
    first < 0 ? [filled, []] : [filled.slice(0, first), filled.slice(first)];
  const messages: ModelMessage[] = [];
  for (const message of others) {
    // A later system message becomes one of the user.
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = message.content.toWellFormed();
    const last = messages.at(-1);
    if (last?.role !== role) messages.push({ role, content });
    else messages.splice(-1, 1, { role, content: `${last.content}\n\n${content}` });
  }
  if (messages.length > 0) {
    return { system: leading.map(({ content }) => content.toWellFormed()).join("\n\n"), messages };
  }
  throw new CellarError("INVALID_INPUT", "the request has no user message", {
    remedy: "Add a message with the role user.",
  });
}

function take(
  block: { type: string; text?: string | undefined; thinking?: string | undefined },
  builder: ReplyBuilder,
): void {
  if (block.type === "text" || block.type === "text_delta") builder.say(block.text);
  else builder.think(block.thinking);
}

/** Cached tokens belong to the prompt too. */
function charge(usage: z.infer<typeof usageSchema>, builder: ReplyBuilder): void {
  if (!usage) return;
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  const cached = (cache_creation_input_tokens ?? 0) + (cache_read_input_tokens ?? 0);
  const input = input_tokens == null ? undefined : input_tokens + cached;
  builder.charge(input, usage.output_tokens ?? undefined);
}

function finishOf(reason: string): ModelReply["finish"] {
  if (reason === "end_turn" || reason === "stop_sequence") return "stop";
  const isCut = reason === "max_tokens" || reason === "model_context_window_exceeded";
  return isCut ? "length" : "other";
}
