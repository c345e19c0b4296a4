import type { ServerResponse } from "node:http";
import type { Completion, Ended } from "./completion.js";
import type { HttpError } from "./http-error.js";

/** So much of an answer is in one event, and never half a character. */
const PIECES = /.{1,2000}/gsu;
/** Progress is not worth more memory than this for a client that does not read it. */
const MAX_UNREAD = 1024 * 1024;

export interface AnswerStreamOptions {
  readonly completion: Completion;
  readonly includesUsage: boolean;
  /** Milliseconds between signs of life. */
  readonly keepAlive: number;
}

/** An answer as server-sent events: signs of life, what happens, the answer, how it ended. */
export class AnswerStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #completion: Completion;
  readonly #includesUsage: boolean;
  readonly #timer: NodeJS.Timeout;

  constructor(response: ServerResponse, options: AnswerStreamOptions) {
    this.#response = response;
    this.#completion = options.completion;
    this.#includesUsage = options.includesUsage;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      // Some proxies buffer responses without this.
      "x-accel-buffering": "no",
    });
    this.#send({ role: "assistant", content: "" });
    this.#timer = setInterval(() => this.#write(": it still runs\n\n"), options.keepAlive);
  }

  /** Progress, in the field for a model's reasoning. */
  report(text: string): void {
    if (text === "" || this.#response.writableLength > MAX_UNREAD) return;
    this.#send({ reasoning_content: text });
  }

  end(ended: Ended): void {
    for (const content of ended.content.match(PIECES) ?? []) this.#send({ content });
    this.#send({}, ended.finish, { cellar: ended.cellar });
    if (this.#includesUsage) this.#event(this.#completion.tally(ended));
    this.#write("data: [DONE]\n\n");
    this.#response.end();
  }

  /** The status was sent long ago: the error is an event. */
  fail({ body }: HttpError): void {
    this.#event(body);
    this.#response.end();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #send(delta: object, finish: Ended["finish"] | null = null, more: object = {}): void {
    const usage = this.#includesUsage ? { usage: null } : {};
    this.#event(this.#completion.chunk(delta, finish, { ...usage, ...more }));
  }

  #event(data: object): void {
    this.#write(`data: ${JSON.stringify(data)}\n\n`);
  }

  #write(text: string): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(text);
  }
}
