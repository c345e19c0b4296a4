/** Dollars for a million tokens. */
export interface Price {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
}

export interface ModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Hears the answer while it comes. What was said once is never said again. */
  readonly onText?: ((piece: string) => void) | undefined;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Counted here, because the model did not say all of it. */
  readonly isEstimate: boolean;
}

export interface ModelReply {
  readonly text: string;
  /** With what attempts cost that broke off before. */
  readonly usage: ModelUsage;
  /** "length" when the tokens ran out. */
  readonly finish: "stop" | "length" | "other";
  /** As the answer names it. */
  readonly model: string;
}

/** Anything that answers a conversation. */
export interface Model {
  readonly name: string;
  /** In tokens. */
  readonly contextWindow?: number | undefined;
  readonly price?: Price | undefined;
  /** Texts that no trace may show, such as its key. */
  secrets?(): readonly string[];
  complete(request: ModelRequest): Promise<ModelReply>;
}
