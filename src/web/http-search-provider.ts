import { OneHost } from "../egress/network-policy.js";
import { badStatus, shownAddress, unreadable } from "./failures.js";
import { parseWebAddress, type WebAddress } from "./web-address.js";
import { WebClient } from "./web-client.js";

const MAX_BYTES = 4 * 1024 ** 2;

export interface HttpSearchProviderOptions {
  /** Of a SearXNG server, such as `http://127.0.0.1:8888`. It may be in the host's own network. */
  readonly url: string;
  /** As a key that the server wants. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A search engine that answers `/search?q=…&format=json`. */
export class HttpSearchProvider {
  readonly #address: WebAddress;
  readonly #client: WebClient;

  constructor({ url, headers }: HttpSearchProviderOptions) {
    this.#address = parseWebAddress(url);
    // Whoever set the address trusts the host, wherever it is; its redirects lead to nobody else.
    const policy = new OneHost(this.#address.target);
    this.#client = new WebClient({
      policy,
      maxBytes: MAX_BYTES,
      headers: { ...headers, accept: "application/json" },
    });
  }

  async ask(query: string, signal: AbortSignal): Promise<unknown> {
    const url = new URL(this.#address.url);
    if (!url.pathname.endsWith("/search"))
      url.pathname = `${url.pathname.replace(/\/$/, "")}/search`;
    url.searchParams.set("q", query);
    url.searchParams.set("format", "json");
    const name = shownAddress(url);
    const { status, body } = await this.#client.get({ ...this.#address, url }, signal);
    if (status < 200 || status > 299) throw badStatus(name, status);
    try {
      return JSON.parse(body.toString("utf8"));
    } catch (error) {
      throw unreadable(name, "it is not JSON", error);
    }
  }
}
