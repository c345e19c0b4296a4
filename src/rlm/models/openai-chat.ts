import type { HttpFault } from "../../http/http-fault.js";
import type { Model, ModelRequest } from "../model.js";
import {
  checkModelOptions,
  HttpModel,
  type HttpModelOptions,
  type WireFormat,
} from "./http-model.js";

const OPENAI = "https://api.openai.com/v1";

export interface OpenAIChatOptions extends HttpModelOptions {
  /** OpenAI's newer models accept only the second; most other servers only the first. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  /** Asks for the token counts at the end of a stream; a few servers reject that. */
  readonly usageInStream?: boolean | undefined;
}

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

  answers() {
    return import("./openai-answers.js");
  }

  remedy({ status, message }: HttpFault): string | undefined {
    if (status !== 400 && status !== 422) return undefined;
    if (message.includes("stream_options")) return "Give usageInStream: false.";
    if (!message.includes(this.#maxTokensField)) return undefined;
    const isOld = this.#maxTokensField === "max_tokens";
    return `Give maxTokensField: "${isOld ? "max_completion_tokens" : "max_tokens"}".`;
  }
}
