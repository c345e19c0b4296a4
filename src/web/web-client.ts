import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { isIP, type Socket } from "node:net";
import { connect as connectSecurely, rootCertificates, type TLSSocket } from "node:tls";
import { onAbort, unlessAborted } from "../concurrency/abort.js";
import { packageVersion } from "../config/environment.js";
import { formatAuthority } from "../egress/authority.js";
import { Denial } from "../egress/denial.js";
import { type Connector, Dialer, type Resolver } from "../egress/dialer.js";
import type { NetworkPolicy } from "../egress/network-policy.js";
import { describeError, isCellarError } from "../errors.js";
import { refused, shownAddress, unreachable, unreadable } from "./failures.js";
import { ACCEPTED_CODINGS, readBody } from "./response-body.js";
import { parseWebAddress, type WebAddress } from "./web-address.js";

const MOST_REDIRECTS = 5;
const MOST_HINTS = 8;
const HEADER_BYTES = 16_384;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

export interface WebClientOptions {
  readonly policy: NetworkPolicy;
  readonly maxBytes: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Certificates to trust besides the usual ones, as PEM. */
  readonly ca?: string | undefined;
  readonly resolve?: Resolver | undefined;
  readonly connect?: Connector | undefined;
}

export interface WebResponse {
  /** After redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The Cache-Control of every answer on the way. */
  readonly cacheControl: string;
}

/** What is sent beside the address. */
export interface WebOrder {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

const GET: WebOrder = { method: "GET" };

/** Requests over a connection to an address that was checked; each redirect is checked as the first address was. */
export class WebClient {
  readonly #options: WebClientOptions;
  readonly #dialer: Dialer;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: WebClientOptions) {
    this.#options = options;
    this.#dialer = new Dialer(options.policy, options.resolve, options.connect);
    this.#headers = {
      accept: "text/html, text/*;q=0.9, application/json;q=0.9, application/pdf;q=0.9, */*;q=0.1",
      "accept-encoding": ACCEPTED_CODINGS,
      "user-agent": `cellar/${packageVersion()}`,
      connection: "close",
      ...options.headers,
    };
  }

  get(first: WebAddress, signal: AbortSignal): Promise<WebResponse> {
    return this.send(first, GET, signal);
  }

  /** Follows the redirects of a GET alone: what is posted goes where it was meant to go. */
  async send(first: WebAddress, order: WebOrder, signal: AbortSignal): Promise<WebResponse> {
    const seen: string[] = [];
    let address = first;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      // Headers may hold a key, which is for one origin.
      const own = address.url.origin === first.url.origin ? order : { method: order.method };
      await using exchange = await this.#exchange(address, own, signal);
      const { message } = exchange;
      const { statusCode: status = 0, headers } = message;
      seen.push(headers["cache-control"] ?? "");
      const isLast = !REDIRECTS.includes(status) || headers.location === undefined;
      if (isLast || order.method !== "GET" || headers.location === undefined) {
        const body = await readBody(message, shownAddress(address.url), this.#options.maxBytes);
        return { url: address.url, status, headers, body, cacheControl: seen.join(", ") };
      }
      address = redirected(address, headers.location);
    }
    throw refused(
      `${shownAddress(first.url)} redirects more than ${MOST_REDIRECTS} times`,
      "Give the final address.",
    );
  }

  async #exchange(
    address: WebAddress,
    order: WebOrder,
    signal: AbortSignal,
  ): Promise<AsyncDisposable & { message: IncomingMessage }> {
    const sockets = new Set<Socket>();
    const destroy = () => {
      for (const socket of sockets) socket.destroy();
    };
    const hold = (socket: Socket) => {
      sockets.add(socket);
      // What happens to a connection after its answer concerns nobody.
      socket.on("error", () => {});
      if (signal.aborted) socket.destroy();
    };
    const aborting = onAbort(signal, destroy);
    const release = async () => {
      aborting[Symbol.dispose]();
      destroy();
    };
    try {
      const socket = await this.#connect(address, signal, hold);
      const message = await this.#ask(address, order, socket);
      return { message, [Symbol.asyncDispose]: release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  async #connect(
    { url, target, isSecure }: WebAddress,
    signal: AbortSignal,
    hold: (socket: Socket) => void,
  ): Promise<Socket> {
    const name = shownAddress(url);
    try {
      const refusal = this.#options.policy.refusalOf(target);
      if (refusal !== undefined) throw new Denial(403, refusal);
      const addresses = await unlessAborted(this.#dialer.addresses(target), signal);
      const opened = this.#dialer.open(addresses, target.port, signal, hold);
      const socket = await unlessAborted(opened, signal);
      if (!isSecure) return socket;
      const secure = await unlessAborted(secured(socket, target.host, this.#options.ca), signal);
      hold(secure);
      return secure;
    } catch (error) {
      if (error instanceof Denial && error.status === 403) {
        throw refused(
          `${name} may not be reached: ${error.message}`,
          "Use a host that is allowed, or ask for this one to be added to the list of allowed hosts.",
        );
      }
      throw unreachable(name, describeError(error), error);
    }
  }

  #ask(
    { url, target, isSecure }: WebAddress,
    { method, headers, body }: WebOrder,
    socket: Socket,
  ): Promise<IncomingMessage> {
    const name = shownAddress(url);
    return new Promise((resolve, reject) => {
      const outgoing = request({
        method,
        path: `${url.pathname}${url.search}`,
        headers: {
          ...this.#headers,
          ...headers,
          host: formatAuthority(target, isSecure ? 443 : 80),
        },
        setHost: false,
        maxHeaderSize: HEADER_BYTES,
        insecureHTTPParser: false,
        createConnection: () => socket,
      });
      const fail = (why: string, cause?: unknown) => {
        reject(unreadable(name, why, cause));
        outgoing.destroy();
      };
      let hints = 0;
      outgoing.on("information", () => {
        hints += 1;
        if (hints > MOST_HINTS) fail("it announces an answer again and again");
      });
      outgoing.once("upgrade", () => fail("it wants to speak another protocol"));
      outgoing.once("response", resolve);
      outgoing.on("error", (error) => fail(reasonOf(error), error));
      outgoing.end(body);
    });
  }
}

/** Where a redirect leads, as far as it may. */
export function redirected(from: WebAddress, location: string): WebAddress {
  const name = shownAddress(from.url);
  try {
    const next = parseWebAddress(location, from.url);
    if (!from.isSecure || next.isSecure) return next;
  } catch (error) {
    if (!isCellarError(error)) throw error;
    throw refused(
      `${name} redirects to where nothing is fetched from: ${error.message}`,
      "Use another address.",
    );
  }
  throw refused(
    `${name} redirects to an address without encryption`,
    "If you trust it, give that address.",
  );
}

function secured(socket: Socket, host: string, ca: string | undefined): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secure = connectSecurely({
      socket,
      host,
      ...(isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
      ALPNProtocols: ["http/1.1"],
    });
    secure.once("secureConnect", () => resolve(secure));
    secure.once("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
  });
}

function reasonOf(error: unknown): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  if (code === "HPE_HEADER_OVERFLOW") return `its headers have more than ${HEADER_BYTES} bytes`;
  if (code.startsWith("HPE_")) return "it is not HTTP";
  return describeError(error);
}
