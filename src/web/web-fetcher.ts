import { AllowList } from "../egress/allow-list.js";
import type { Connector, Resolver } from "../egress/dialer.js";
import { PublicHosts } from "../egress/network-policy.js";
import { CellarError } from "../errors.js";
import { AbortTimer } from "../http/abort-timer.js";
import { decodeText } from "./charset.js";
import { kindOf, typeOf } from "./content-kind.js";
import { badStatus, cancelled, shownAddress, tookTooLong } from "./failures.js";
import { isShallow } from "./json-depth.js";
import { markdownOfHtml } from "./markdown/page-markdown.js";
import { PageCache } from "./page-cache.js";
import { parseWebAddress } from "./web-address.js";
import { WebClient, type WebResponse } from "./web-client.js";
import { type FoundContent, pageOf, type WebPage } from "./web-page.js";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 8 * 1024 ** 2;
const CACHE_BYTES = 32 * 1024 ** 2;
const CACHE_SECONDS = 300;
const MAX_CHARACTERS = 10_000;

export interface WebFetcherOptions {
  /** The only hosts that are reached, as in `network.allow`. Default: every public one. */
  readonly allow?: readonly string[] | undefined;
  /** For everything: name, connection, redirects, body. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Of an answer, packed or unpacked. Default: 8 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long a page is kept at most; 0 keeps none. Default: 300. */
  readonly cacheSeconds?: number | undefined;
  /** Of all pages that are kept. Default: 32 MiB. */
  readonly cacheBytes?: number | undefined;
  /** Certificates to trust besides the usual ones, as PEM. */
  readonly ca?: string | undefined;
  readonly resolve?: Resolver | undefined;
  readonly connect?: Connector | undefined;
}

export interface WebFetchOptions {
  /** Of text and pages; JSON and PDF come whole. Default: 10,000. */
  readonly maxCharacters?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads pages for models: public hosts or those of a list, at addresses that were checked. */
export class WebFetcher {
  readonly #client: WebClient;
  readonly #cache: PageCache;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;

  constructor(options: WebFetcherOptions = {}) {
    const { allow, ca, resolve, connect } = options;
    const policy = allow === undefined ? new PublicHosts() : new AllowList(allow);
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
    this.#client = new WebClient({ policy, maxBytes: this.#maxBytes, ca, resolve, connect });
    this.#cache = new PageCache({
      maxBytes: options.cacheBytes ?? CACHE_BYTES,
      maxSeconds: options.cacheSeconds ?? CACHE_SECONDS,
    });
  }

  async fetch(text: string, options: WebFetchOptions = {}): Promise<WebPage> {
    const most = options.maxCharacters ?? MAX_CHARACTERS;
    if (!Number.isSafeInteger(most) || most < 1) {
      throw new CellarError("INVALID_INPUT", `${most} is not a number of characters`, {
        remedy: "Give a whole number of at least 1.",
      });
    }
    const address = parseWebAddress(text);
    const kept = this.#cache.get(address.url.href);
    if (kept !== undefined) return pageOf(kept, most);
    const name = shownAddress(address.url);
    using timer = new AbortTimer(options.signal, this.#timeoutMs);
    try {
      const response = await this.#client.get(address, timer.signal);
      if (response.status < 200 || response.status > 299) throw badStatus(name, response.status);
      const found = await this.#contentOf(response, timer.signal);
      this.#cache.put(address.url.href, found, response.cacheControl);
      return pageOf(found, most);
    } catch (error) {
      if (options.signal?.aborted === true) throw cancelled(name, options.signal.reason);
      throw timer.isTimeUp ? tookTooLong(name, this.#timeoutMs) : error;
    }
  }

  async #contentOf(response: WebResponse, signal: AbortSignal): Promise<FoundContent> {
    const { body, headers } = response;
    const url = response.url.href;
    const contentType = headers["content-type"] ?? "";
    const type = typeOf(contentType);
    const kind = kindOf(type, body);
    if (kind === undefined) throw unsupported(response.url, type);
    if (kind === "pdf") return { kind, url, bytes: body };
    const text = decodeText(body, contentType, kind === "page");
    if (kind === "json" && isJson(text)) return { kind, url, text };
    if (kind !== "page") return { kind: "text", url, title: undefined, text, isTruncated: false };
    const page = await markdownOfHtml(text, {
      base: response.url,
      maxCharacters: this.#maxBytes,
      signal,
    });
    return { kind, url, ...page };
  }
}

/** What says that it is JSON and is not can still be read as text. */
function isJson(text: string): boolean {
  try {
    return isShallow(JSON.parse(text));
  } catch {
    return false;
  }
}

function unsupported(url: URL, type: string): CellarError {
  const shown = type === "" ? "of no known type" : type;
  return new CellarError(
    "UNSUPPORTED",
    `${shownAddress(url)} is ${shown}, which cannot be read as text`,
    {
      remedy: "Use an address with a page, text, JSON or a PDF.",
      details: { type },
    },
  );
}
