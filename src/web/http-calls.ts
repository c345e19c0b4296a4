import { AllowList } from "../egress/allow-list.js";
import { PublicHosts } from "../egress/network-policy.js";
import { CellarError } from "../errors.js";
import { AbortTimer } from "../http/abort-timer.js";
import { decodeText } from "./charset.js";
import { kindOf, typeOf } from "./content-kind.js";
import { cancelled, shownAddress, tookTooLong } from "./failures.js";
import { isShallow } from "./json-depth.js";

import { parseWebAddress } from "./web-address.js";
import { WebClient, type WebResponse } from "./web-client.js";
import type { WebFetcherOptions } from "./web-fetcher.js";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 8 * 1024 ** 2;
const MOST_HEADERS = 50;
const LONGEST_HEADER = 8_000;
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Those that belong to the connection, not to the caller. */
const OWN_HEADERS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|proxy-.*)$/i;

export interface HttpCall {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  /** A text, or a value that is sent as JSON. */
  readonly body?: unknown;
  readonly maxCharacters: number;
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A value if it is JSON, else text. */
  readonly body: unknown;
  readonly url: string;
}

/** Plain requests, to the same hosts and within the same limits as pages. */
export class HttpCalls {
  readonly #client: WebClient;
  readonly #timeoutMs: number;

  constructor(options: WebFetcherOptions = {}) {
    const { allow, ca, resolve, connect, maxBytes = MAX_BYTES } = options;
    const policy = allow === undefined ? new PublicHosts() : new AllowList(allow);
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#client = new WebClient({ policy, maxBytes, ca, resolve, connect });
  }

  async send({ url, method, headers, body, maxCharacters, signal }: HttpCall): Promise<HttpReply> {
    const address = parseWebAddress(url);
    const content = contentOf(body);
    const order = {
      method,
      headers: { ...content.headers, ...checkedHeaders(headers ?? {}) },
      body: method === "POST" ? content.text : undefined,
    };
    using timer = new AbortTimer(signal, this.#timeoutMs);
    try {
      return replyOf(await this.#client.send(address, order, timer.signal), maxCharacters);
    } catch (error) {
      const name = shownAddress(address.url);
      if (signal.aborted) throw cancelled(name, signal.reason);
      throw timer.isTimeUp ? tookTooLong(name, this.#timeoutMs) : error;
    }
  }
}

function contentOf(body: unknown): { text: string; headers: Record<string, string> } {
  if (body === undefined || body === "") return { text: "", headers: {} };
  if (typeof body === "string") {
    return { text: body, headers: { "content-type": "text/plain; charset=utf-8" } };
  }
  return { text: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

function checkedHeaders(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(given);
  if (entries.length > MOST_HEADERS) throw badHeader(`more than ${MOST_HEADERS} headers`);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (!TOKEN.test(name) || OWN_HEADERS.test(name)) {
        throw badHeader(`the header ${JSON.stringify(name.slice(0, 100))}`);
      }
      if (typeof value !== "string" || value.length > LONGEST_HEADER || /[\r\n\0]/.test(value)) {
        throw badHeader(`the value of the header ${name}`);
      }
      return [name.toLowerCase(), value];
    }),
  );
}

function badHeader(what: string): CellarError {
  return new CellarError("INVALID_INPUT", `${what} cannot be sent`, {
    remedy: "Give headers as names and one-line texts, without those of the connection.",
  });
}

function replyOf(response: WebResponse, maxCharacters: number): HttpReply {
  const type = response.headers["content-type"] ?? "";
  const text = decodeText(response.body, type, false);
  const isJson = kindOf(typeOf(type), response.body) === "json";
  const value = isJson ? jsonOf(text) : undefined;
  const headers = Object.entries(response.headers).map(([name, one]) => [name, String(one)]);
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    body: value === undefined ? text.slice(0, maxCharacters) : value,
    url: response.url.href,
  };
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isShallow(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
