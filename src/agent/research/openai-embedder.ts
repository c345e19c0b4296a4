import { z } from "zod";
import { checkNames, type OptionNames, requireOptions } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import { AbortTimer } from "../../http/abort-timer.js";
import { Endpoint, type EndpointOptions } from "../../http/endpoint.js";
import { HttpFault } from "../../http/http-fault.js";
import { retry } from "../../http/retry.js";
import type { Embedder } from "./embedder.js";

const MAX_DIMENSIONS = 65_536;
/** The threshold that suits the BGE family. */
const BGE_THRESHOLD = 0.7;

const answerSchema = z.object({
  data: z.array(
    z.object({
      index: z.int().nonnegative(),
      embedding: z.array(z.number()).min(1).max(MAX_DIMENSIONS),
    }),
  ),
});

export interface OpenAIEmbedderOptions extends EndpointOptions {
  readonly baseUrl: string;
  readonly model: string;
  /** Sent with each request, and checked. Without it the first answer decides. */
  readonly dimensions?: number | undefined;
  readonly threshold?: number | undefined;
  readonly batchSize?: number | undefined;
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
  /** Milliseconds before the second attempt; doubles with each. */
  readonly retryDelay?: number | undefined;
}

const EMBEDDER_OPTIONS: OptionNames<OpenAIEmbedderOptions> = {
  baseUrl: true,
  model: true,
  key: true,
  headers: true,
  fetch: true,
  dimensions: true,
  threshold: true,
  batchSize: true,
  timeout: true,
  retries: true,
  retryDelay: true,
};

/** Any endpoint that speaks OpenAI's `/v1/embeddings`. */
export class OpenAIEmbedder implements Embedder {
  readonly name: string;
  readonly threshold: number;
  readonly #endpoint: Endpoint;
  readonly #requested: number | undefined;
  readonly #batchSize: number;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #retryDelay: number;
  #dimensions: number | undefined;

  constructor(options: OpenAIEmbedderOptions) {
    requireOptions("the options of an embedder", options, '{ baseUrl: "…/v1", model: "name" }');
    checkNames("OpenAIEmbedder", options, EMBEDDER_OPTIONS, (name) =>
      name === "keyName" ? 'use key: { env: "NAME" }' : undefined,
    );
    const { baseUrl, key, headers, fetch } = options;
    this.#endpoint = new Endpoint({
      ...{ baseUrl, key, headers, fetch },
      path: "/embeddings",
      ownHeaders: (secret) => (secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    });
    this.name = options.model;
    this.threshold = options.threshold ?? BGE_THRESHOLD;
    this.#requested = options.dimensions;
    this.#dimensions = options.dimensions;
    this.#batchSize = Math.max(1, Math.trunc(options.batchSize ?? 64));
    this.#timeout = options.timeout ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#retryDelay = options.retryDelay ?? 500;
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let start = 0; start < texts.length; start += this.#batchSize) {
      const batch = texts.slice(start, start + this.#batchSize);
      vectors.push(...(await this.#embedBatch(batch, signal)));
    }
    return vectors;
  }

  async #embedBatch(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const options = { retries: this.#retries, delayMs: this.#retryDelay, signal };
    try {
      return await retry(() => this.#request(texts, signal), options);
    } catch (error) {
      if (signal?.aborted) {
        throw new CellarError("ABORTED", "embedding was cancelled", { cause: signal.reason });
      }
      throw error instanceof HttpFault ? this.#endpoint.failure(error) : error;
    }
  }

  async #request(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    using timer = new AbortTimer(signal, this.#timeout);
    const content = {
      model: this.name,
      // Most endpoints reject half a surrogate pair.
      input: texts.map((one) => (one === "" ? " " : one.toWellFormed())),
      encoding_format: "float",
      ...(this.#requested !== undefined && { dimensions: this.#requested }),
    };
    try {
      return this.#read(await this.#endpoint.postJson(content, timer.signal), texts.length);
    } catch (error) {
      if (!timer.isTimeUp) throw error;
      throw new HttpFault(`no answer within ${this.#timeout / 1000} s`, {
        reason: "timeout",
        isTransient: true,
      });
    }
  }

  #read(answer: unknown, count: number): Float32Array[] {
    const { data } = answerSchema.safeParse(answer);
    if (data === undefined) throw new HttpFault("the answer has no list of embeddings");
    const vectors = new Map(data.data.map(({ index, embedding }) => [index, embedding]));
    if (data.data.length !== count || vectors.size !== count) {
      throw new HttpFault(`${data.data.length} embeddings came for ${count} texts`);
    }
    return Array.from({ length: count }, (_, index) => {
      const vector = vectors.get(index);
      if (vector === undefined) throw new HttpFault(`the embedding of text ${index} is missing`);
      this.#dimensions ??= vector.length;
      if (vector.length !== this.#dimensions) {
        const expected = `instead of ${this.#dimensions}`;
        throw new HttpFault(`an embedding has ${vector.length} dimensions ${expected}`);
      }
      return Float32Array.from(vector);
    });
  }
}
