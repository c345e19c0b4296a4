import { request } from "node:http";
import OpenAI from "openai";
import type { ModelRequest } from "../../src/rlm/model.js";
import { functionModel } from "../../src/rlm/models/function-model.js";
import type { ChatServerOptions } from "../../src/server/chat/chat-options.js";
import { type ChatServer, createChatServer } from "../../src/server/chat/chat-server.js";

export const fence = (code: string) => `Let me look.\n\`\`\`repl\n${code}\n\`\`\``;

/** A server at any port that is free, on sandboxes that start quickly. */
export function serve(options: ChatServerOptions): Promise<ChatServer> {
  return createChatServer({
    port: 0,
    ...options,
    config: { backend: "native", preload: "none", ...options.config },
  });
}

export const client = (address: string, apiKey = "none") =>
  new OpenAI({ baseURL: address, apiKey, maxRetries: 0 });

export interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Saying {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Sent as it is. */
  readonly raw?: string | Buffer;
}

/** Unlike fetch this sends any header as it is told. */
export function say(address: string, path: string, saying: Saying = {}): Promise<Heard> {
  const body = saying.raw ?? (saying.body === undefined ? undefined : JSON.stringify(saying.body));
  const method = saying.method ?? (body === undefined ? "GET" : "POST");
  return new Promise((resolve, reject) => {
    const asking = request(
      new URL(path, address),
      { method, agent: false, headers: { "content-type": "application/json", ...saying.headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    asking.on("error", reject);
    asking.end(body);
  });
}

export const CHAT = "/v1/chat/completions";

/** A request with one question. */
export function question(content: string, more: object = {}): Record<string, unknown> {
  return { model: "cellar-rlm", messages: [{ role: "user", content }], ...more };
}

/** A model that answers when it is told to, and tells how it was asked. */
export function heldModel() {
  const asked: ModelRequest[] = [];
  const answers: Array<(text: string) => void> = [];
  let heard = () => {};
  const model = functionModel((request) => {
    asked.push(request);
    heard();
    return new Promise((resolve) => answers.push(resolve));
  });
  return {
    model,
    asked,
    answerAll: (text: string) => {
      for (const answer of answers.splice(0)) answer(text);
    },
    /** Comes when so many requests were made. */
    isAsked: async (count: number) => {
      while (asked.length < count) {
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    },
  };
}

export function aborted({ signal }: ModelRequest): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A request as it goes over the wire. */
export function posted(asked: object): string {
  const body = JSON.stringify(asked);
  const headers = `content-type: application/json\r\ncontent-length: ${body.length}`;
  return `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n\r\n${body}`;
}
