import { z } from "zod";
import type { ModelReply } from "../model.js";
import { readPiece, readWhole } from "./answer.js";
import type { ReplyBuilder } from "./reply-builder.js";

const text = z.string().nullish();
const partSchema = z.object({ type: z.string(), text: text.catch(undefined) });
const saidSchema = z.object({
  content: z.union([z.string(), z.array(partSchema)]).nullish(),
  refusal: text,
  reasoning_content: text.catch(undefined),
  reasoning: text.catch(undefined),
});
const tokens = z.int().nonnegative().optional().catch(undefined);
const usageSchema = z
  .object({ prompt_tokens: tokens, completion_tokens: tokens })
  .nullish()
  .catch(undefined);
const model = z.string().optional().catch(undefined);
const finish_reason = text;

const chunkSchema = z.object({
  model,
  choices: z
    .array(z.object({ index: z.int().nullish(), delta: saidSchema.nullish(), finish_reason }))
    .nullish(),
  usage: usageSchema,
});
const answerSchema = z.object({
  model,
  choices: z.array(z.object({ message: saidSchema, finish_reason })).min(1),
  usage: usageSchema,
});

export function readEvent(data: string, builder: ReplyBuilder): void {
  if (data.trim() === "[DONE]") {
    builder.isWhole = true;
    return;
  }
  const chunk = readPiece(data, chunkSchema);
  const choice = chunk.choices?.find(({ index }) => !index);
  take(chunk, choice?.delta, choice?.finish_reason, builder);
}

export function readAnswer(content: string, builder: ReplyBuilder): void {
  const read = readWhole(content, answerSchema);
  const [choice] = read.choices;
  take(read, choice?.message, choice?.finish_reason, builder);
  builder.finish ??= "other";
}

function take(
  { model, usage }: Pick<z.infer<typeof chunkSchema>, "model" | "usage">,
  said: z.infer<typeof saidSchema> | null | undefined,
  finish: string | null | undefined,
  builder: ReplyBuilder,
): void {
  builder.nameModel(model);
  builder.think(said?.reasoning_content ?? said?.reasoning);
  builder.say(contentOf(said?.content) || said?.refusal);
  if (usage) builder.charge(usage.prompt_tokens, usage.completion_tokens);
  if (finish) builder.finish = finishOf(finish);
}

function contentOf(content: z.infer<typeof saidSchema>["content"]): string | null | undefined {
  if (!Array.isArray(content)) return content;
  return content.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
}

function finishOf(reason: string): ModelReply["finish"] {
  return reason === "stop" || reason === "length" ? reason : "other";
}
