import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { callerVariable } from "../../config/environment.js";
import { checkNames, type OptionNames, requireOptions } from "../../config/kinds.js";
import { CellarError, describeError } from "../../errors.js";
import type { Embedder } from "./embedder.js";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_DIMENSIONS = 65_536;
const LONGEST_PAUSE_MS = 30_000;
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

export interface OpenAIEmbedderOptions {
  /** Up to and with the version: `http://127.0.0.1:8080/v1`. */
  readonly baseURL: string;
  readonly model: string;
  /** The environment variable that has the key, where the endpoint wants one. */
  readonly keyName?: string | undefined;
  /** Asked for, and checked. Without it the first answer decides. */
  readonly dimensions?: number | undefined;
  readonly threshold?: number | undefined;
  readonly batchSize?: number | undefined;
  /** For one request. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is made again that failed for a while only. */
  readonly retries?: number | undefined;
  /** Doubles with each attempt; a random part of it is waited. */
  readonly retryDelayMs?: number | undefined;
}

const EMBEDDER_OPTIONS: OptionNames<OpenAIEmbedderOptions> = {
  baseURL: true,
  model: true,
  keyName: true,
  dimensions: true,
  threshold: true,
  batchSize: true,
  timeoutMs: true,
  retries: true,
  retryDelayMs: true,
};

/** A request that may go well another time. */
class Passing extends Error {
  constructor(
    message: string,
    readonly pauseMs?: number,
  ) {
    super(message);
  }
}

/** Any endpoint that speaks OpenAI's `/v1/embeddings`. */
export class OpenAIEmbedder implements Embedder {
  readonly name: string;
  readonly threshold: number;
  readonly #url: URL;
  readonly #model: string;
  readonly #keyName: string | undefined;
  readonly #asked: number | undefined;
  readonly #batchSize: number;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #retryDelayMs: number;
  #dimensions: number | undefined;

  constructor(options: OpenAIEmbedderOptions) {
    requireOptions("the options of an embedder", options, '{ baseURL: "…/v1", model: "name" }');
    checkNames("OpenAIEmbedder", options, EMBEDDER_OPTIONS);
    this.#url = endpoint(options.baseURL);
    this.#model = options.model;
    this.#keyName = options.keyName;
    this.#asked = options.dimensions;
    this.#dimensions = options.dimensions;
    this.#batchSize = Math.max(1, Math.trunc(options.batchSize ?? 64));
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#retryDelayMs = options.retryDelayMs ?? 500;
    this.name = options.model;
    this.threshold = options.threshold ?? BGE_THRESHOLD;
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let start = 0; start < texts.length; start += this.#batchSize) {
      const batch = texts.slice(start, start + this.#batchSize);
      vectors.push(...(await this.#persist(batch, signal)));
    }
    return vectors;
  }

  async #persist(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        return this.#read(await this.#ask(texts, signal), texts.length);
      } catch (error) {
        if (signal?.aborted) {
          throw new CellarError("ABORTED", "embedding was given up", { cause: signal.reason });
        }
        if (!(error instanceof Passing)) throw error;
        if (attempt >= this.#retries) throw this.#failure(error.message);
        await this.#pause(attempt, error.pauseMs, signal);
      }
    }
  }

  async #ask(texts: readonly string[], signal: AbortSignal | undefined): Promise<unknown> {
    const key = this.#key();
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const own = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    let response: Response;
    let text: string | undefined;
    try {
      response = await fetch(this.#url, {
        method: "POST",
        // A key that follows a redirect ends up where the caller did not send it.
        redirect: "manual",
        signal: own,
        headers: {
          "content-type": "application/json",
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
        body: JSON.stringify({
          model: this.#model,
          // Half a surrogate pair is no text for most endpoints.
          input: texts.map((one) => (one === "" ? " " : one.toWellFormed())),
          encoding_format: "float",
          ...(this.#asked !== undefined && { dimensions: this.#asked }),
        }),
      });
      text = await readBody(response);
    } catch (error) {
      if (limit.aborted) throw new Passing(`no answer within ${this.#timeoutMs / 1000} s`);
      throw new Passing(this.#withoutKey(reasonOf(error)));
    }
    if (!response.ok) throw this.#refusal(response, text ?? "");
    if (text === undefined) throw this.#failure(`the answer has over ${MAX_ANSWER_BYTES} bytes`);
    try {
      return JSON.parse(text);
    } catch {
      throw this.#failure("the answer is not JSON");
    }
  }

  #read(answer: unknown, count: number): Float32Array[] {
    const { data } = answerSchema.safeParse(answer);
    if (data === undefined) throw this.#failure("the answer has no list of embeddings");
    const vectors = new Map(data.data.map(({ index, embedding }) => [index, embedding]));
    if (data.data.length !== count || vectors.size !== count) {
      throw this.#failure(`it was asked for ${count} embeddings and gave ${data.data.length}`);
    }
    return Array.from({ length: count }, (_, index) => {
      const vector = vectors.get(index);
      if (vector === undefined) throw this.#failure(`the embedding of text ${index} is missing`);
      this.#dimensions ??= vector.length;
      if (vector.length !== this.#dimensions) {
        const wanted = `where there should be ${this.#dimensions}`;
        throw this.#failure(`an embedding has ${vector.length} dimensions ${wanted}`);
      }
      return Float32Array.from(vector);
    });
  }

  #refusal(response: Response, text: string): Error {
    const { status } = response;
    const message = `HTTP ${status}${this.#told(text)}`;
    if (status === 429 || status >= 500) return new Passing(message, retryAfter(response));
    const isKey = status === 401 || status === 403;
    return this.#failure(message, isKey ? this.#keyRemedy() : undefined);
  }

  #told(text: string): string {
    const line = this.#withoutKey(text).replace(/\s+/g, " ").trim().slice(0, 200);
    return line === "" ? "" : `: ${line}`;
  }

  #failure(message: string, remedy?: string): CellarError {
    const options = { remedy: remedy ?? "See whether the endpoint and the model are right." };
    return new CellarError("REMOTE_ERROR", `${this.#url.origin}: ${message}`, options);
  }

  #keyRemedy(): string {
    return this.#keyName === undefined
      ? "The endpoint wants a key: give keyName, the name of the variable that has it."
      : `Look at the key in ${this.#keyName}.`;
  }

  /** Read when it is needed and kept nowhere. */
  #key(): string | undefined {
    if (this.#keyName === undefined) return undefined;
    const key = callerVariable(this.#keyName);
    if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
    const fault = key ? "has characters that no key has" : "is not set";
    throw new CellarError("INVALID_CONFIG", `${this.#keyName} ${fault}`, {
      remedy: `Put the key of the endpoint into the environment variable ${this.#keyName}.`,
    });
  }

  /** Some endpoints repeat the key that they refuse. */
  #withoutKey(text: string): string {
    const key = this.#keyName === undefined ? undefined : callerVariable(this.#keyName);
    return key ? text.replaceAll(key, "[key]") : text;
  }

  async #pause(attempt: number, asked: number | undefined, signal?: AbortSignal): Promise<void> {
    const jittered = Math.random() * this.#retryDelayMs * 2 ** attempt;
    const pause = Math.min(Math.max(jittered, asked ?? 0), LONGEST_PAUSE_MS);
    try {
      await sleep(pause, undefined, { signal });
    } catch (error) {
      throw new CellarError("ABORTED", "embedding was given up", { cause: error });
    }
  }
}

function endpoint(baseURL: string): URL {
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") {
    throw new CellarError("INVALID_CONFIG", "the base address of the embedder is not right", {
      remedy: "Give one like https://api.example.com/v1, without a name and password in it.",
    });
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/embeddings`;
  return url;
}

/** Nothing where it is too long to be held. */
async function readBody(response: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.byteLength;
    if (size > MAX_ANSWER_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** `fetch` says no more than that it failed; its cause says why. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return describeError(cause ?? error);
}
