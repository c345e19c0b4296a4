import { LONGEST_TIMEOUT_MS } from "../../config/environment.js";
import { checkNames, type OptionNames, requireOptions, requireText } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import { Endpoint, type EndpointOptions, type ModelKey } from "../../http/endpoint.js";
import type { HttpFault } from "../../http/http-fault.js";
import type { Model, ModelReply, ModelRequest, Price } from "../model.js";
import { checkedPrice } from "./prices.js";
import type { ReplyBuilder } from "./reply-builder.js";

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

/** Everything that a call needs besides its request. */
export interface CallPlan {
  readonly name: string;
  readonly format: WireFormat;
  readonly endpoint: Endpoint;
  readonly timeout: number;
  readonly idle: number;
  readonly retries: number;
  readonly delay: number;
  readonly isStream: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

export class HttpModel implements Model {
  readonly name: string;
  readonly contextWindow: number | undefined;
  readonly price: Price | undefined;
  readonly #plan: CallPlan;

  constructor(format: WireFormat, options: HttpModelOptions) {
    const { baseUrl = format.baseUrl, key, headers } = options;
    this.name = options.model;
    this.contextWindow = options.contextWindow;
    this.price = checkedPrice(options.price);
    const endpoint = new Endpoint({
      baseUrl,
      path: format.path,
      key: key ?? (options.baseUrl === undefined ? format.key : undefined),
      headers,
      ownHeaders: format.headers,
      fetch: options.fetch,
    });
    this.#plan = {
      name: options.model,
      format,
      endpoint,
      timeout: number("timeout", options.timeout ?? TIMEOUT_MS, 1),
      idle: number("idleTimeout", options.idleTimeout ?? IDLE_TIMEOUT_MS, 1),
      retries: number("retries", options.retries ?? RETRIES, 0),
      delay: number("retryDelay", options.retryDelay ?? RETRY_DELAY_MS, 0),
      isStream: options.stream ?? true,
      body: options.body ?? {},
    };
  }

  secrets(): readonly string[] {
    return this.#plan.endpoint.secrets();
  }

  async complete(request: ModelRequest): Promise<ModelReply> {
    const { HttpCall } = await import("./http-call.js");
    return await new HttpCall(this.#plan).complete(request);
  }
}

function number(name: string, value: number, least: number): number {
  if (Number.isFinite(value) && value >= least && value <= LONGEST_TIMEOUT_MS) return value;
  throw new CellarError("INVALID_CONFIG", `${name} of the model is out of range`, {
    remedy: `Give a number of at least ${least}.`,
  });
}
