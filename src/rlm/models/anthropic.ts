import { CellarError } from "../../errors.js";
import type { Model, ModelMessage, ModelRequest } from "../model.js";
import {
  checkModelOptions,
  HttpModel,
  type HttpModelOptions,
  type WireFormat,
} from "./http-model.js";

const VERSION = "2023-06-01";
const MAX_TOKENS = 8192;

export interface AnthropicOptions extends HttpModelOptions {
  /** For requests without a limit, because the protocol requires one. Default: 8192. */
  readonly maxTokens?: number | undefined;
}

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

  answers() {
    return import("./anthropic-answers.js");
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
