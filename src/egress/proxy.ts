import {
  createServer,
  type IncomingMessage,
  request as requestUpstream,
  type Server,
  ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { describeError } from "../errors.js";
import { AllowList } from "./allow-list.js";
import { type Authority, formatAuthority } from "./authority.js";
import { adviceOf, answerDenial, cutOff, Denial } from "./denial.js";
import { type Connector, Dialer, type Resolver } from "./dialer.js";
import { EgressSocket, type SocketOwner } from "./egress-socket.js";
import { forwardedHeaders, parseAbsolute, parseConnect, returnedHeaders } from "./forwarding.js";
import { proxyEnvironment } from "./proxy-environment.js";
import {
  type NetworkRequest,
  type NetworkTotals,
  RequestLog,
  type Traffic,
} from "./request-log.js";

const MOST_CONNECTIONS = 64;
const IDLE_MS = 120_000;
const HEADER_BYTES = 16_384;
const HEADERS_MS = 10_000;
export interface EgressOptions {
  /** The session's folder, in which the socket is made. */
  readonly folder: string;
  /** Who may connect: the user of the sandbox, where that is another than this process has. */
  readonly owner?: SocketOwner | undefined;
  /** Hosts that may be reached, such as `example.org`, `*.example.org`, `example.org:8080`. */
  readonly allow: readonly string[];
  /** Set where egress was cut before: nothing can be reached. */
  readonly cutReason?: string | undefined;
  readonly resolve?: Resolver | undefined;
  readonly connect?: Connector | undefined;
  readonly maxConnections?: number | undefined;
  /** Milliseconds without traffic after which a connection is closed. */
  readonly idle?: number | undefined;
}

export interface NetworkReport {
  readonly allow: readonly string[];
  /** Why the network was cut; null while it is not. */
  readonly cut: string | null;
  readonly totals: NetworkTotals;
  readonly requests: readonly NetworkRequest[];
}

/** The only network access of a session: an HTTP proxy with an allow-list. */
export class EgressProxy implements AsyncDisposable {
  readonly #allowed: AllowList;
  readonly #dialer: Dialer;
  readonly #log = new RequestLog();
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #clients = new Set<Socket>();
  readonly #most: number;
  readonly #idle: number;
  #place: EgressSocket | undefined;
  readonly #over = new AbortController();
  #cutReason: string | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: EgressOptions) {
    this.#allowed = new AllowList(options.allow);
    this.#dialer = new Dialer(this.#allowed, options.resolve, options.connect);
    this.#most = options.maxConnections ?? MOST_CONNECTIONS;
    this.#idle = options.idle ?? IDLE_MS;
    this.#cutReason = options.cutReason;
    this.#server = createServer({
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: 0,
      requireHostHeader: false,
      insecureHTTPParser: false,
    });
    // One connection per request on both sides, so that none hides behind another.
    this.#server.maxRequestsPerSocket = 1;
    this.#server.maxConnections = 2 * this.#most;
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    this.#server.on("request", (request, response) => this.#forward(request, response));
    this.#server.on("connect", (request, socket, head) => this.#tunnel(request, socket, head));
  }

  static async open(options: EgressOptions): Promise<EgressProxy> {
    const proxy = new EgressProxy(options);
    proxy.#place = await EgressSocket.listen(proxy.#server, options.folder, options.owner);
    proxy.#server.unref();
    return proxy;
  }

  /** Variables of the session's environment by which programs find the way out. */
  get environment(): Readonly<Record<string, string>> {
    return proxyEnvironment(this.#allowed);
  }

  get report(): NetworkReport {
    return {
      allow: this.#allowed.entries,
      cut: this.#cutReason ?? null,
      totals: this.#log.totals,
      requests: this.#log.requests,
    };
  }

  /** Ends every connection and refuses new ones, for good. */
  cut(reason: string): void {
    this.#cutReason ??= reason;
    this.#endAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#endAll();
    this.#server.closeAllConnections();
    await closed;
    this.#place?.[Symbol.dispose]();
  }

  #endAll(): void {
    this.#over.abort();
    for (const socket of this.#sockets) socket.destroy();
  }

  #admit(socket: Socket): void {
    this.#clients.add(socket);
    socket.once("close", () => this.#clients.delete(socket));
    this.#hold(socket);
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.unref();
    socket.setTimeout(this.#idle, () => socket.destroy());
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { target, path } = parseAbsolute(request.url ?? "");
      const headers = forwardedHeaders(request.rawHeaders, target);
      const { upstream, traffic } = await this.#reach(target);
      endTogether(response, upstream);
      upstream.on("data", (chunk: Buffer) => traffic.received(chunk.length));
      request.on("data", (chunk: Buffer) => traffic.sent(chunk.length));
      const outgoing = requestUpstream({
        method: request.method,
        path,
        headers,
        setHost: false,
        maxHeaderSize: HEADER_BYTES,
        createConnection: () => upstream,
      });
      outgoing.once("response", (incoming) => this.#passBack(incoming, response));
      outgoing.once("error", (error) => {
        traffic.failed(describeError(error));
        this.#deny(response, error);
      });
      pipeline(request, outgoing, () => {});
    } catch (error) {
      this.#deny(response, error);
    }
  }

  #passBack(incoming: IncomingMessage, response: ServerResponse): void {
    const { statusCode = 0, statusMessage = "", rawHeaders } = incoming;
    try {
      response.writeHead(statusCode, statusMessage, returnedHeaders(rawHeaders));
    } catch (error) {
      incoming.destroy();
      this.#deny(response, new Denial(502, `the response cannot be read: ${describeError(error)}`));
      return;
    }
    pipeline(incoming, response, () => incoming.destroy());
  }

  /** The content is mostly encrypted and not looked at. */
  async #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    try {
      const { upstream, traffic } = await this.#reach(parseConnect(request.url ?? ""));
      endTogether(client, upstream);
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      if (head.length > 0) client.unshift(head);
      upstream.on("data", (chunk: Buffer) => traffic.received(chunk.length));
      client.on("data", (chunk: Buffer) => traffic.sent(chunk.length));
      // Each direction ends by itself; an error ends both.
      client.pipe(upstream).pipe(client);
      upstream.once("close", () => client.destroy());
    } catch (error) {
      const response = new ServerResponse(request);
      response.assignSocket(client as Socket);
      response.once("finish", () => client.end());
      this.#deny(response, error);
    }
  }

  async #reach(target: Authority): Promise<{ upstream: Socket; traffic: Traffic }> {
    const addresses = await this.#addresses(target).catch((error: unknown) => {
      this.#log.refuse(formatAuthority(target), describeError(error));
      throw error;
    });
    const traffic = this.#log.allow(target);
    try {
      const onSocket = (socket: Socket) => this.#hold(socket);
      const upstream = await this.#dialer.open(addresses, target.port, this.#over.signal, onSocket);
      return { upstream, traffic };
    } catch (error) {
      const reason = describeError(error);
      traffic.failed(reason);
      throw new Denial(502, `${target.host} cannot be reached: ${reason}`);
    }
  }

  async #addresses(target: Authority): Promise<readonly string[]> {
    if (this.#clients.size > this.#most) {
      throw new Denial(503, `a session may have ${this.#most} connections at a time`);
    }
    this.#refuseWhenCut();
    const refusal = this.#allowed.refusalOf(target);
    if (refusal !== undefined) throw new Denial(403, refusal);
    const addresses = await this.#dialer.addresses(target);
    // It may have been cut while the name was looked up.
    this.#refuseWhenCut();
    return addresses;
  }

  #refuseWhenCut(): void {
    if (this.#cutReason !== undefined) throw cutOff(this.#cutReason);
  }

  #deny(response: ServerResponse, error: unknown): void {
    answerDenial(response, error, adviceOf(this.#allowed, this.#cutReason));
  }
}

function endTogether(client: Duplex | ServerResponse, upstream: Socket): void {
  if (client.destroyed || client.closed) upstream.destroy();
  else client.once("close", () => upstream.destroy());
}
