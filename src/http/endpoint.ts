import { callerVariable } from "../config/environment.js";
import { CellarError, describeError } from "../errors.js";
import { hideSecrets } from "./hide-secrets.js";
import { HttpFault } from "./http-fault.js";
import { retryAfter } from "./retry.js";
import type { BodyReader, HttpResponse, Post } from "./transport.js";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** A longer error body is not quoted. */
const MAX_ERROR_BYTES = 64 * 1024;
/** How long an answered connection may take to end, so that it can be used again. */
const LINGER_MS = 250;
/** Shorter header and query values occur in too many texts to be hidden. */
const SHORTEST_SECRET = 8;

/** The key itself, or the name of the environment variable that has it. */
export type ModelKey = string | { readonly env: string };

export interface EndpointOptions {
  /** Up to and with the version: `http://127.0.0.1:8080/v1`. */
  readonly baseUrl?: string | undefined;
  /** Read at each request and kept out of errors, traces and recordings. */
  readonly key?: ModelKey | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export interface EndpointSetup extends EndpointOptions {
  readonly baseUrl: string;
  readonly path: string;
  /** Headers that the provider wants, with or without a key. */
  readonly ownHeaders: (key: string | undefined) => Record<string, string>;
}

/** An address that takes JSON by POST, with its key. */
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

  /** Throws an `HttpFault` for any status but 2xx. */
  async post(content: unknown, signal: AbortSignal): Promise<HttpResponse> {
    const key = this.#readKey();
    const post = {
      headers: { "content-type": "application/json", ...this.#ownHeaders(key), ...this.#headers },
      body: JSON.stringify(content),
      signal,
    };
    const answer = await this.#send(post).catch((error: unknown) => {
      throw connectionFault(error);
    });
    const { status, headers } = answer;
    if (status >= 200 && status < 300) return answer;
    const text = await readText(answer, undefined, MAX_ERROR_BYTES).catch(() => "");
    const { httpError } = await import("./complaint.js");
    throw httpError(status, this.hide(text), {
      pauseMs: retryAfter(headers),
      // An endpoint may know that another attempt would only repeat the same work.
      isPermanent: headers.get("x-should-retry") === "false",
    });
  }

  async #send(post: Post): Promise<HttpResponse> {
    const fetch = this.#fetch;
    const { postBy, postDirectly } = await import("./transport.js");
    return await (fetch === undefined
      ? postDirectly(this.#url, post)
      : postBy(fetch, this.#url, post));
  }

  async postJson(content: unknown, signal: AbortSignal): Promise<unknown> {
    return parseJson(await readText(await this.post(content, signal)));
  }

  /** Key, headers and query values, in every form in which they may occur in a text. */
  secrets(): readonly string[] {
    const key = this.#keyValue;
    const others = [...Object.values(this.#headers), ...this.#url.searchParams.values()];
    return [
      ...(key ? [key] : []),
      ...others.filter(({ length }) => length >= SHORTEST_SECRET),
    ].flatMap((secret) => [secret, encodeURIComponent(secret), ...quoted(secret)]);
  }

  /** Some endpoints repeat the key that they reject. */
  hide(text: string): string {
    return hideSecrets(text, this.secrets(), 1);
  }

  failure(fault: HttpFault, { attempts = 1, remedy, details }: FailureOptions = {}): CellarError {
    const often = attempts > 1 ? ` (${attempts} attempts)` : "";
    return new CellarError("REMOTE_ERROR", `${this.origin}: ${this.hide(fault.message)}${often}`, {
      remedy: remedy ?? this.#remedy(fault),
      details: {
        attempts,
        ...(fault.status !== undefined && { status: fault.status }),
        ...(fault.reason !== undefined && { reason: this.hide(fault.reason) }),
        ...details,
      },
    });
  }

  #remedy({ status, reason, isTransient }: HttpFault): string {
    if (status === 401 || status === 403) return this.#keyRemedy();
    if (reason === "timeout" || reason === "idleTimeout") return `Raise ${reason}.`;
    if (reason === "insufficient_quota") return "Check the quota and billing of the account.";
    if (reason === "context_length_exceeded" || status === 413) return "Send a shorter prompt.";
    if (status === 429) return "Send fewer requests at once, or raise retries.";
    return isTransient
      ? "Try again later, and check that the endpoint is running."
      : "Check the base URL and the name of the model.";
  }

  #keyRemedy(): string {
    if (typeof this.#key === "object") return `Check the key in ${this.#key.env}.`;
    return this.#key === undefined
      ? 'The endpoint wants a key: give key: { env: "NAME" }, the variable that has it.'
      : "Check the key.";
  }

  get #keyValue(): string | undefined {
    return typeof this.#key === "object" ? callerVariable(this.#key.env) : this.#key;
  }

  #readKey(): string | undefined {
    if (this.#key === undefined) return undefined;
    const name = typeof this.#key === "object" ? this.#key.env : undefined;
    const key = this.#keyValue;
    if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
    const fault = key ? "has characters that are not allowed in a key" : "is not set";
    throw new CellarError("INVALID_CONFIG", `${name ?? "the key"} ${fault}`, {
      remedy: name
        ? `Put the key of the endpoint into the environment variable ${name}.`
        : "Give the key unchanged, or leave it out if the endpoint needs none.",
    });
  }
}

interface FailureOptions {
  readonly attempts?: number | undefined;
  readonly remedy?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The body in pieces, with a limit; `onPiece` gets the number of bytes so far. */
export async function* piecesOf(
  { body: reader }: Pick<HttpResponse, "body">,
  onPiece: (bytes: number) => void = () => {},
  limit = MAX_ANSWER_BYTES,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (reader === undefined) return;
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw connectionFault(error);
      });
      if (done || value === undefined) return;
      size += value.byteLength;
      onPiece(size);
      if (size > limit) throw new HttpFault(`the answer has over ${limit} bytes`);
      yield value;
    }
  } finally {
    void leave(reader);
  }
}

export async function readText(
  answer: HttpResponse,
  onPiece?: (bytes: number) => void,
  limit?: number,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of piecesOf(answer, onPiece, limit)) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** JSON that cannot be parsed may have been cut on the way. */
export function parseJson(text: string, what = "the answer"): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpFault(`${what} is not JSON`, { isTransient: true });
  }
}

/** Reads the rest for a moment: a connection that was cut cannot be used again. */
async function leave(reader: BodyReader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), LINGER_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The rest does not matter.
  } finally {
    clearTimeout(timer);
  }
}

function addressOf(baseUrl: string, path: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") {
    throw new CellarError("INVALID_CONFIG", "the base URL is not a usable http or https address", {
      remedy: "Give one like https://api.example.com/v1, without a name and password in it.",
    });
  }
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url;
}

/** The invalid header is not quoted: it may be a key. */
function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw new CellarError("INVALID_CONFIG", "headers has an invalid name or value", {
      remedy: "Names and values of headers are plain text in one line.",
    });
  }
}

/** As written within JSON, where slashes may be escaped. */
function quoted(secret: string): string[] {
  const text = JSON.stringify(secret).slice(1, -1);
  return [text, text.replaceAll("/", "\\/")];
}

function connectionFault(error: unknown): HttpFault {
  return new HttpFault(`the connection failed: ${reasonOf(error)}`, { isTransient: true });
}

/** An error of `fetch` says only that it failed; its cause says why. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return describeError(cause ?? error) || "no reason given";
}
