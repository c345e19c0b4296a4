import { z } from "zod";
import type { ModelReply } from "../model.js";
import { readPiece, readWhole } from "./answer.js";
import type { ReplyBuilder } from "./reply-builder.js";

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

export function readEvent(data: string, builder: ReplyBuilder): void {
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

export function readAnswer(text: string, builder: ReplyBuilder): void {
  const { model, usage, content, stop_reason } = readWhole(text, answerSchema);
  builder.nameModel(model);
  charge(usage, builder);
  for (const block of content) take(block, builder);
  builder.finish = finishOf(stop_reason ?? "");
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
