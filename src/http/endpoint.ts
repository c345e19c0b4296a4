import { callerVariable } from "../config/environment.js";
import { CellarError, describeError } from "../errors.js";
import { HttpFault, httpError } from "./http-fault.js";
import { retryAfter } from "./retry.js";
import { type HttpResponse, type BodyReader, type Post, postBy, postDirectly } from "./transport.js";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** A longer complaint is not quoted. */
const MAX_COMPLAINT_BYTES = 64 * 1024;
/** How long an answered connection may take to end, so that it can be used again. */
const LINGER_MS = 250;
/** Shorter words stand in too many texts to be hidden in them. */
const SHORTEST_SECRET = 8;
const HIDDEN = "[hidden]";

/** The key itself, or the name of the environment variable that has it. */
export type ModelKey = string | { readonly env: string };

export interface EndpointOptions {
  /** Up to and with the version: `http://127.0.0.1:8080/v1`. */
  readonly baseUrl?: string | undefined;
  /** Read at each request and kept out of everything that is told. */
  readonly key?: ModelKey | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export interface EndpointSetup extends EndpointOptions {
  readonly baseUrl: string;
  readonly path: string;
  /** What the provider wants to see, with the key or without one. */
  readonly ownHeaders: (key: string | undefined) => Record<string, string>;
}

/** Where a model is asked. */
export class Endpoint {
  readonly origin: string;
  readonly #url: URL;
  readonly #key: ModelKey | undefined;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #ownHeaders: EndpointSetup["ownHeaders"];
  readonly #fetch: typeof fetch | undefined;

  constructor({ baseUrl, path, key, headers = {}, ownHeaders, ...options }: EndpointSetup) {
    this.#url = addressOf(baseUrl, path);
    this.origin = this.#url.origin;
    this.#key = key;
    this.#headers = checkedHeaders(headers);
    this.#ownHeaders = ownHeaders;
    this.#fetch = options.fetch;
  }

  /** An answer that means well; anything else is a fault. */
  async post(content: unknown, signal: AbortSignal): Promise<HttpResponse> {
    const key = this.#readKey();
    const post = {
      headers: { "content-type": "application/json", ...this.#ownHeaders(key), ...this.#headers },
      body: JSON.stringify(content),
      signal,
    };
    const answer = await this.#send(post).catch((error: unknown) => {
      throw lost(error);
    });
    const { status, headers } = answer;
    if (status >= 200 && status < 300) return answer;
    const text = await readText(answer, MAX_COMPLAINT_BYTES);
    throw httpError(status, this.hide(text ?? ""), {
      pauseMs: retryAfter(headers),
      // An endpoint may know that another attempt would only do the same work once more.
      isPermanent: headers.get("x-should-retry") === "false",
    });
  }

  #send(post: Post): Promise<HttpResponse> {
    const fetch = this.#fetch;
    return fetch === undefined ? postDirectly(this.#url, post) : postBy(fetch, this.#url, post);
  }

  /** What nobody but the endpoint may see, in every form in which it may turn up. */
  secrets(): readonly string[] {
    const key = typeof this.#key === "object" ? callerVariable(this.#key.env) : this.#key;
    const others = [...Object.values(this.#headers), ...this.#url.searchParams.values()];
    return [...(key ? [key] : []), ...others.filter(({ length }) => length >= SHORTEST_SECRET)]
      .flatMap((secret) => [secret, encodeURIComponent(secret), ...quoted(secret)])
      .sort((one, other) => other.length - one.length);
  }

  /** Some endpoints repeat what they refuse. */
  hide(text: string): string {
    return this.secrets().reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), text);
  }

  keyRemedy(): string {
    if (typeof this.#key === "object") return `Look at the key in ${this.#key.env}.`;
    return this.#key === undefined
      ? 'The endpoint wants a key: give key: { env: "NAME" }, the variable that has it.'
      : "Look at the key that was given.";
  }

  #readKey(): string | undefined {
    if (this.#key === undefined) return undefined;
    const name = typeof this.#key === "object" ? this.#key.env : undefined;
    const key = typeof this.#key === "object" ? callerVariable(this.#key.env) : this.#key;
    if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
    const fault = key ? "has characters that no key has" : "is not set";
    throw new CellarError("INVALID_CONFIG", `${name ?? "the key of the model"} ${fault}`, {
      remedy: name
        ? `Put the key of the endpoint into the environment variable ${name}.`
        : "Give the key as it is, or leave it away where none is wanted.",
    });
  }
}

/** The pieces of an answer's body, each told when it comes. */
export async function* piecesOf(
  { body: reader }: HttpResponse,
  heard: () => void,
  limit = MAX_ANSWER_BYTES,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (reader === undefined) return;
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw lost(error);
      });
      if (done || value === undefined) return;
      heard();
      size += value.byteLength;
      if (size > limit) throw new HttpFault(`the answer has over ${limit} bytes`);
      yield value;
    }
  } finally {
    void leave(reader);
  }
}

/** Nothing where it is too long. */
async function readText(answer: HttpResponse, limit: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of piecesOf(answer, () => {}, limit)) pieces.push(piece);
  } catch (error) {
    if (error instanceof HttpFault) return undefined;
    throw error;
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** What is left of an answer is read for a moment: a connection that was cut cannot be used again. */
async function leave(reader: BodyReader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), LINGER_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // It is not wanted any more.
  } finally {
    clearTimeout(timer);
  }
}

function addressOf(baseUrl: string, path: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") {
    throw new CellarError("INVALID_CONFIG", "the base address of the model is not right", {
      remedy: "Give one like https://api.example.com/v1, without a name and password in it.",
    });
  }
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url;
}

/** What is wrong with a header is not quoted: it may be a key. */
function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw new CellarError("INVALID_CONFIG", "a header for the model is not right", {
      remedy: "Names and values of headers are plain text in one line.",
    });
  }
}

/** As it stands within JSON, where slashes may be escaped or not. */
function quoted(secret: string): string[] {
  const text = JSON.stringify(secret).slice(1, -1);
  return [text, text.replaceAll("/", "\\/")];
}

/** `fetch` says no more than that it failed; its cause says why. */
function lost(error: unknown): HttpFault {
  const cause = error instanceof Error ? error.cause : undefined;
  const reason = describeError(cause ?? error) || "no reason given";
  return new HttpFault(`the connection failed: ${reason}`, { isTransient: true });
}
