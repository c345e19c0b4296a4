import { LONGEST_TIMEOUT_MS } from "../../config/environment.js";
import { checkNames, type OptionNames, requireOptions, requireText } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import { AbortTimer } from "../../http/abort-timer.js";
import {
  Endpoint,
  type EndpointOptions,
  type ModelKey,
  piecesOf,
  readText,
} from "../../http/endpoint.js";
import { EventStreamDecoder } from "../../http/event-stream.js";
import { HttpFault } from "../../http/http-fault.js";
import { retry } from "../../http/retry.js";
import type { HttpResponse } from "../../http/transport.js";
import type { Model, ModelReply, ModelRequest, ModelUsage, Price } from "../model.js";
import { checkedPrice } from "./prices.js";
import { addUsage, NO_USAGE, ReplyBuilder } from "./reply-builder.js";

const TIMEOUT_MS = 600_000;
const IDLE_TIMEOUT_MS = 120_000;
const RETRIES = 3;
const RETRY_DELAY_MS = 500;

export interface HttpModelOptions extends EndpointOptions {
  readonly model: string;
  /** Milliseconds for the whole call, with all attempts and pauses. */
  readonly timeout?: number | undefined;
  /** Milliseconds without a new piece of a streaming answer. */
  readonly idleTimeout?: number | undefined;
  /** How many more attempts follow a transient failure. */
  readonly retries?: number | undefined;
  /** Milliseconds before the second attempt; doubles with each. */
  readonly retryDelay?: number | undefined;
  readonly price?: Price | undefined;
  /** In tokens. */
  readonly contextWindow?: number | undefined;
  readonly stream?: boolean | undefined;
  /** More fields for the body of each request, such as `top_p`. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

const MODEL_OPTIONS: OptionNames<HttpModelOptions> = {
  model: true,
  baseUrl: true,
  key: true,
  headers: true,
  fetch: true,
  timeout: true,
  idleTimeout: true,
  retries: true,
  retryDelay: true,
  price: true,
  contextWindow: true,
  stream: true,
  body: true,
};

/** `own` are the options that only this format has. */
export function checkModelOptions<T extends HttpModelOptions>(
  what: string,
  options: T,
  own: OptionNames<Omit<T, keyof HttpModelOptions>>,
): void {
  const known = { ...MODEL_OPTIONS, ...own } as OptionNames<T>;
  checkNames(what, requireOptions(`the options of ${what}`, options, '{ model: "name" }'), known);
  const { baseUrl, key, headers, body } = options;
  if (baseUrl !== undefined) requireText("baseUrl", baseUrl);
  if (key !== undefined && typeof key !== "string") requireOptions("key", key);
  if (headers !== undefined) requireOptions("headers", headers);
  if (body !== undefined) requireOptions("body", body);
}

/** The requests and answers of a provider. */
export interface WireFormat {
  readonly baseUrl: string;
  readonly path: string;
  /** For the default address, unless the caller gives one. */
  readonly key: ModelKey;
  headers(key: string | undefined): Record<string, string>;
  buildRequest(request: ModelRequest, isStream: boolean): Record<string, unknown>;
  /** What reads its answers, loaded with the first one. */
  answers(): Promise<AnswerReader>;
  remedy?(fault: HttpFault): string | undefined;
}

export interface AnswerReader {
  /** Reads one event of a streaming answer. */
  readEvent(data: string, builder: ReplyBuilder): void;
  /** Reads an answer that is not streamed. */
  readAnswer(text: string, builder: ReplyBuilder): void;
}

export class HttpModel implements Model {
  readonly name: string;
  readonly contextWindow: number | undefined;
  readonly price: Price | undefined;
  readonly #format: WireFormat;
  readonly #endpoint: Endpoint;
  readonly #timeout: number;
  readonly #idle: number;
  readonly #retries: number;
  readonly #delay: number;
  readonly #isStream: boolean;
  readonly #body: Readonly<Record<string, unknown>>;

  constructor(format: WireFormat, options: HttpModelOptions) {
    const { baseUrl = format.baseUrl, key, headers } = options;
    this.name = options.model;
    this.contextWindow = options.contextWindow;
    this.price = checkedPrice(options.price);
    this.#format = format;
    this.#endpoint = new Endpoint({
      baseUrl,
      path: format.path,
      key: key ?? (options.baseUrl === undefined ? format.key : undefined),
      headers,
      ownHeaders: format.headers,
      fetch: options.fetch,
    });
    this.#timeout = number("timeout", options.timeout ?? TIMEOUT_MS, 1);
    this.#idle = number("idleTimeout", options.idleTimeout ?? IDLE_TIMEOUT_MS, 1);
    this.#retries = number("retries", options.retries ?? RETRIES, 0);
    this.#delay = number("retryDelay", options.retryDelay ?? RETRY_DELAY_MS, 0);
    this.#isStream = options.stream ?? true;
    this.#body = options.body ?? {};
  }

  secrets(): readonly string[] {
    return this.#endpoint.secrets();
  }

  async complete(request: ModelRequest): Promise<ModelReply> {
    if (request.signal?.aborted) throw givenUp(request.signal, undefined);
    using timer = new AbortTimer(request.signal, this.#timeout);
    let builder = new ReplyBuilder();
    let attempts = 0;
    let lost = NO_USAGE;
    const attempt = async (): Promise<ModelReply> => {
      if (builder.isBegun) lost = addUsage(lost, await builder.usage(request.messages));
      attempts += 1;
      builder = new ReplyBuilder(request.onText);
      await this.#attempt(request, builder, timer.signal);
      return builder.reply(addUsage(lost, await builder.usage(request.messages)), this.name);
    };
    try {
      return await retry(attempt, {
        retries: this.#retries,
        delayMs: this.#delay,
        signal: timer.signal,
        deadline: Date.now() + this.#timeout,
        canRetry: () => !builder.isHeard,
      });
    } catch (error) {
      if (!(error instanceof HttpFault) && !timer.signal.aborted) throw error;
      const spent = builder.isBegun ? addUsage(lost, await builder.usage(request.messages)) : lost;
      const usage = spent === NO_USAGE ? undefined : spent;
      if (timer.isTimeUp) throw this.#failure(timeUp("timeout", this.#timeout), attempts, usage);
      if (!(error instanceof HttpFault) || timer.signal.aborted) throw givenUp(timer.signal, usage);
      throw this.#failure(error, attempts, usage);
    }
  }

  async #attempt(request: ModelRequest, builder: ReplyBuilder, signal: AbortSignal): Promise<void> {
    using timer = new AbortTimer(signal, this.#isStream ? this.#idle : undefined);
    try {
      const body = { ...this.#body, ...this.#format.buildRequest(request, this.#isStream) };
      const response = await this.#endpoint.post(body, timer.signal);
      timer.refresh();
      const type = response.headers.get("content-type") ?? "";
      if (/\bhtml\b/.test(type)) throw new HttpFault("the answer is a web page");
      // Not every server can stream.
      if (this.#isStream && !/\bjson\b/.test(type)) await this.#listen(response, builder, timer);
      else await this.#readWhole(response, builder, timer);
    } catch (error) {
      // Once the model has finished, a lost connection does not matter.
      builder.isWhole ||=
        builder.finish !== undefined && error instanceof HttpFault && error.isTransient;
      if (builder.isWhole && !signal.aborted) return;
      throw timer.isTimeUp ? timeUp("idleTimeout", this.#idle) : error;
    }
  }

  async #listen(response: HttpResponse, builder: ReplyBuilder, timer: AbortTimer): Promise<void> {
    const { readEvent } = await this.#format.answers();
    const decoder = new EventStreamDecoder();
    for await (const piece of piecesOf(response, timer.refresh)) {
      for (const data of decoder.push(piece)) readEvent(data, builder);
      if (builder.isWhole) return;
    }
    for (const data of decoder.end()) readEvent(data, builder);
    builder.isWhole ||= builder.finish !== undefined;
    if (!builder.isWhole) throw new HttpFault("the answer ends too early", { isTransient: true });
  }

  async #readWhole(
    response: HttpResponse,
    builder: ReplyBuilder,
    timer: AbortTimer,
  ): Promise<void> {
    const { readAnswer } = await this.#format.answers();
    readAnswer(await readText(response, timer.refresh), builder);
    builder.isWhole = true;
  }

  #failure(fault: HttpFault, attempts: number, usage: ModelUsage | undefined): CellarError {
    return this.#endpoint.failure(fault, {
      attempts,
      remedy: this.#format.remedy?.(fault),
      details: { model: this.name, ...(usage !== undefined && { usage }) },
    });
  }
}

function timeUp(reason: "timeout" | "idleTimeout", limitMs: number): HttpFault {
  const seconds = limitMs / 1000;
  return reason === "timeout"
    ? new HttpFault(`no whole answer within ${seconds} s`, { reason })
    : new HttpFault(`nothing came for ${seconds} s`, { reason, isTransient: true });
}

/** The usage up to then was still charged. */
function givenUp(signal: AbortSignal, usage: ModelUsage | undefined): CellarError {
  return new CellarError("ABORTED", "the request to the model was cancelled", {
    details: { ...(usage !== undefined && { usage }) },
    cause: signal.reason,
  });
}

function number(name: string, value: number, least: number): number {
  if (Number.isFinite(value) && value >= least && value <= LONGEST_TIMEOUT_MS) return value;
  throw new CellarError("INVALID_CONFIG", `${name} of the model is out of range`, {
    remedy: `Give a number of at least ${least}.`,
  });
}
