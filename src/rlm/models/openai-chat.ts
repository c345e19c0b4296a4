import { z } from "zod";
import type { HttpFault } from "../../http/http-fault.js";
import type { Model, ModelReply, ModelRequest } from "../model.js";
import {
  checkAnswer,
  checkModelOptions,
  HttpModel,
  type HttpModelOptions,
  readPiece,
  type WireFormat,
} from "./http-model.js";
import type { ReplyBuilder } from "./reply-builder.js";

const OPENAI = "https://api.openai.com/v1";

export interface OpenAIChatOptions extends HttpModelOptions {
  /** OpenAI's newer models accept only the second; most other servers only the first. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  /** Asks for the token counts at the end of a stream; a few servers reject that. */
  readonly usageInStream?: boolean | undefined;
}

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

/** An endpoint with OpenAI's chat completions API. Default: OpenAI itself. */
export function openAIChat(options: OpenAIChatOptions): Model {
  checkModelOptions("openAIChat", options, { maxTokensField: true, usageInStream: true });
  return new HttpModel(new ChatCompletions(options), options);
}

class ChatCompletions implements WireFormat {
  readonly baseUrl = OPENAI;
  readonly path = "/chat/completions";
  readonly key = { env: "OPENAI_API_KEY" };
  readonly #model: string;
  readonly #maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly #usageInStream: boolean;

  constructor({ model, baseUrl, maxTokensField, usageInStream = true }: OpenAIChatOptions) {
    const isOpenAI = baseUrl === undefined || baseUrl.startsWith(new URL(OPENAI).origin);
    this.#model = model;
    this.#maxTokensField = maxTokensField ?? (isOpenAI ? "max_completion_tokens" : "max_tokens");
    this.#usageInStream = usageInStream;
  }

  headers(key: string | undefined): Record<string, string> {
    return key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  buildRequest(request: ModelRequest, isStream: boolean): Record<string, unknown> {
    const { messages, maxTokens, temperature, stop } = request;
    return {
      model: this.#model,
      // Most endpoints reject half a surrogate pair.
      messages: messages.map(({ role, content }) => ({ role, content: content.toWellFormed() })),
      stream: isStream,
      ...(isStream && this.#usageInStream && { stream_options: { include_usage: true } }),
      ...(maxTokens !== undefined && { [this.#maxTokensField]: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop !== undefined && stop.length > 0 && { stop }),
    };
  }

  readEvent(data: string, builder: ReplyBuilder): void {
    if (data.trim() === "[DONE]") {
      builder.isWhole = true;
      return;
    }
    const chunk = readPiece(data, chunkSchema);
    const choice = chunk.choices?.find(({ index }) => !index);
    take(chunk, choice?.delta, choice?.finish_reason, builder);
  }

  readAnswer(answer: unknown, builder: ReplyBuilder): void {
    const read = checkAnswer(answer, answerSchema);
    const [choice] = read.choices;
    take(read, choice?.message, choice?.finish_reason, builder);
    builder.finish ??= "other";
  }

  remedy({ status, message }: HttpFault): string | undefined {
    if (status !== 400 && status !== 422) return undefined;
    if (message.includes("stream_options")) return "Give usageInStream: false.";
    if (!message.includes(this.#maxTokensField)) return undefined;
    const isOld = this.#maxTokensField === "max_tokens";
    return `Give maxTokensField: "${isOld ? "max_completion_tokens" : "max_tokens"}".`;
  }
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
