import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Spoken, spokenAs } from "./model-wire-formats.js";

export interface FakeRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly stream?: boolean;
    readonly [field: string]: unknown;
  };
}

/** One answer, and what goes wrong with it. */
export interface FakeTurn extends Spoken {
  readonly latencyMs?: number;
  /** Before each event of a stream. */
  readonly paceMs?: number;
  /** Answers so, and with this body, instead. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The connection is cut after so many events of the stream. */
  readonly dropAfter?: number;
  /** Nothing comes after so many events, and the connection stays open. */
  readonly hangAfter?: number;
  /** The event with this number is half a one. */
  readonly breakAt?: number;
  /** These bytes and no others, each written by itself. */
  readonly raw?: readonly (string | Uint8Array)[];
  /** Answers in one piece though it was asked for a stream. */
  readonly isWhole?: boolean;
}

export type FakeAnswer = (
  request: FakeRequest,
  number: number,
) => string | FakeTurn | Promise<string | FakeTurn>;

export interface FakeServerOptions {
  readonly answer?: FakeAnswer;
  /** The share of requests that get an error, spread the same way at each run. */
  readonly errorRate?: number;
  readonly errorStatus?: number;
  readonly latencyMs?: number;
}

/** A provider on loopback: `/v1/chat/completions` and `/v1/messages`. */
export class FakeServer implements AsyncDisposable {
  readonly requests: FakeRequest[] = [];
  answer: FakeAnswer;
  /** How many requests were open at the same time, at most. */
  mostAtOnce = 0;
  connections = 0;
  readonly #options: FakeServerOptions;
  readonly #server: Server;
  readonly #closing = new AbortController();
  #atOnce = 0;
  #chance = 1;

  private constructor(options: FakeServerOptions) {
    this.#options = options;
    this.answer = options.answer ?? (() => "Hello.");
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", () => {
      this.connections += 1;
    });
  }

  static async open(options: FakeServerOptions = {}): Promise<FakeServer> {
    const fake = new FakeServer(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  /** These one after another, and the last of them for all that come later. */
  inOrder(...turns: readonly (string | FakeTurn)[]): void {
    const first = this.requests.length;
    this.answer = (_, number) => turns[Math.min(number - first, turns.length) - 1] ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    response.on("close", () => {
      this.#atOnce -= 1;
    });
    let text = "";
    for await (const piece of incoming.setEncoding("utf8")) text += piece;
    const { url: path = "", headers } = incoming;
    const request: FakeRequest = { path, headers, body: JSON.parse(text) };
    this.requests.push(request);
    const given = await this.answer(request, this.requests.length);
    const turn = typeof given === "string" ? { text: given } : given;
    const { latencyMs = this.#options.latencyMs ?? 0 } = turn;
    if (latencyMs > 0) await sleep(latencyMs, undefined, { signal: this.#closing.signal });
    if (this.#isUnlucky()) send(response, this.#options.errorStatus ?? 503, "bad luck");
    else if (turn.status !== undefined) send(response, turn.status, turn.body ?? "", turn.headers);
    else await speak(request, response, turn);
  }

  #isUnlucky(): boolean {
    this.#chance = (this.#chance * 48_271) % 2_147_483_647;
    return this.#chance / 2_147_483_647 < (this.#options.errorRate ?? 0);
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

async function speak(
  { path, body }: FakeRequest,
  response: ServerResponse,
  turn: FakeTurn,
): Promise<void> {
  const protocol = path.includes("/messages") ? "messages" : "chat";
  const { whole, events } = spokenAs(protocol, body.model, turn);
  if (turn.body !== undefined || body.stream !== true || turn.isWhole) {
    send(response, 200, turn.body ?? whole, turn.headers);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", ...turn.headers });
  response.flushHeaders();
  const end = Math.min(turn.dropAfter ?? Infinity, turn.hangAfter ?? Infinity);
  const pieces = turn.raw ?? events.slice(0, end);
  for (const [index, piece] of pieces.entries()) {
    const isBroken = index === turn.breakAt && typeof piece === "string";
    response.write(isBroken ? `${piece.trimEnd().slice(0, -9)}\n\n` : piece);
    // Each comes to the other side by itself.
    await (turn.paceMs === undefined ? new Promise(setImmediate) : sleep(turn.paceMs));
    if (response.destroyed) return;
  }
  if (turn.hangAfter !== undefined) return;
  if (turn.dropAfter === undefined) response.end();
  else setTimeout(() => response.destroy(), 20);
}
