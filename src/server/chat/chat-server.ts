import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CellarError, describeError } from "../../errors.js";
import { readBudget, requirePrice } from "../../rlm/budget/budget.js";
import { rlm } from "../../rlm/rlm.js";
import { AdmissionQueue } from "./admission-queue.js";
import { AnswerStream } from "./answer-stream.js";
import { BodyIntake } from "./body-intake.js";
import {
  type ChatServerOptions,
  type ChatSettings,
  runOptionsOf,
  settingsOf,
} from "./chat-options.js";
import { type ChatRequest, readChatRequest } from "./chat-request.js";
import { Completion, type Ended, endedAs } from "./completion.js";
import { HttpError, httpErrorOf } from "./http-error.js";
import { outputFormOf } from "./output-form.js";
import { questionOf } from "./question.js";
import { drain, readJson } from "./request-body.js";
import { RequestGuard } from "./request-guard.js";
import { RunReport } from "./run-report.js";

const REQUEST_TIMEOUT_MS = 30_000;
/** Sandboxes need open files too. */
const MAX_CONNECTIONS = 1_000;

export interface ChatServer extends AsyncDisposable {
  /** The base address for clients: `http://127.0.0.1:8787/v1`. */
  readonly address: string;
  readonly name: string;
  /** Cancels what runs, and comes when it is over. */
  close(): Promise<void>;
}

/** Serves a recursive language model as if it were a chat model of OpenAI's protocol. */
export async function createChatServer(options: ChatServerOptions): Promise<ChatServer> {
  const settings = settingsOf(options);
  const { model, subModel = model, models = {}, budget } = options;
  for (const each of [model, subModel, ...Object.values(models)]) {
    requirePrice(readBudget(budget), each);
  }
  const server = new ChatHttpServer(
    options,
    settings,
    new RequestGuard(settings.host, options.key),
  );
  await server.listen();
  return server;
}

/** A request that is being served. */
interface ActiveRequest {
  readonly socket: Socket;
  readonly served: Promise<void>;
}

/** Where questions are taken and answers given. */
class ChatHttpServer implements ChatServer {
  readonly #options: ChatServerOptions;
  readonly #settings: ChatSettings;
  readonly #guard: RequestGuard;
  readonly #queue: AdmissionQueue;
  readonly #intake: BodyIntake;
  readonly #server: Server;
  readonly #active = new Map<AbortController, ActiveRequest>();
  #port = 0;
  #isClosing = false;
  readonly #created = Math.floor(Date.now() / 1000);

  constructor(options: ChatServerOptions, settings: ChatSettings, guard: RequestGuard) {
    this.#options = options;
    this.#settings = settings;
    this.#guard = guard;
    this.#queue = new AdmissionQueue(settings.maxConcurrent, settings.maxWaiting);
    this.#intake = new BodyIntake({ limit: settings.maxBodyBytes });
    this.#server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) =>
      this.#onRequest(request, response),
    );
    this.#server.timeout = settings.patience;
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connection", (socket) =>
      socket.once("close", () => this.#onConnectionClosed(socket)),
    );
  }

  get name(): string {
    return this.#settings.name;
  }

  get address(): string {
    const { host } = this.#settings;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.#port}/v1`;
  }

  async listen(): Promise<void> {
    const { host, port } = this.#settings;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error) =>
        reject(
          new CellarError("IO_ERROR", `cannot listen at ${host}:${port}: ${describeError(error)}`, {
            remedy: "Choose another port; 0 selects a free one.",
            cause: error,
          }),
        ),
      );
      this.#server.listen(port, host, resolve);
    });
    const bound = this.#server.address();
    if (typeof bound === "object" && bound !== null) this.#port = bound.port;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    // Connections that are open may still bring more.
    while (this.#active.size > 0) {
      for (const controller of this.#active.keys()) controller.abort();
      await Promise.all([...this.#active.values()].map(({ served }) => served));
    }
    this.#server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const controller = new AbortController();
    if (this.#isClosing) controller.abort();
    const { socket } = request;
    const served = this.#serve(request, response, controller.signal)
      .catch((error: unknown) => sendError(request, response, httpErrorOf(error)))
      .catch(() => void response.destroy())
      .finally(() => {
        response.setTimeout(this.#settings.patience);
        this.#active.delete(controller);
      });
    this.#active.set(controller, { socket, served });
  }

  /** A pipelined response that waits for an earlier one gets no event when its connection closes. */
  #onConnectionClosed(gone: Socket): void {
    for (const [controller, { socket }] of this.#active) if (socket === gone) controller.abort();
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    this.#guard.checkOrigin(request);
    const [path = ""] = (request.url ?? "").split("?");
    if (path === "/health") {
      requireMethod(request, "GET");
      send(response, 200, { status: "ok" });
      return;
    }
    this.#guard.checkKey(request);
    if (path === "/v1/models" || path === `/v1/models/${encodeURIComponent(this.name)}`) {
      requireMethod(request, "GET");
      const own = { id: this.name, object: "model", created: this.#created, owned_by: "cellar" };
      send(response, 200, path === "/v1/models" ? { object: "list", data: [own] } : own);
      return;
    }
    if (path.startsWith("/v1/models/")) throw this.#unknownModel();
    if (path !== "/v1/chat/completions") {
      throw new HttpError(
        404,
        "unknown path; this server has /v1/chat/completions and /v1/models. Check that the base URL ends with /v1",
      );
    }
    requireMethod(request, "POST");
    await this.#complete(request, response, signal);
  }

  async #complete(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    this.#queue.check();
    const limits = { limit: this.#settings.maxBodyBytes, signal, intake: this.#intake };
    const chat = readChatRequest(await readJson(request, limits));
    if (chat.model !== this.name) throw this.#unknownModel();
    // Both sides are silent while a model thinks.
    request.setTimeout(0);
    const run = this.#plan(chat, signal);
    using place = this.#queue.enter();
    const completion = new Completion(this.name);
    if (!chat.isStream) {
      await place.turn(signal);
      send(response, 200, completion.whole(await run()));
      return;
    }
    const { keepAlive } = this.#settings;
    const { includesUsage } = chat;
    using stream = new AnswerStream(response, { completion, includesUsage, keepAlive });
    try {
      await place.turn(signal);
      stream.end(await run(stream));
    } catch (error) {
      stream.fail(httpErrorOf(error));
    }
  }

  /** Everything that can be wrong with a question is found before it waits. */
  #plan(chat: ChatRequest, signal: AbortSignal): (stream?: AnswerStream) => Promise<Ended> {
    const { context, config, onEvent } = this.#options;
    const { query, context: own } = questionOf(chat.messages, context !== undefined);
    const form = outputFormOf(chat.format);
    return async (stream) => {
      const report = new RunReport();
      const tell = (text: string) => {
        if (this.#settings.progress) stream?.report(text);
      };
      const result = await rlm({
        ...runOptionsOf(this.#options),
        query: form === undefined ? query : `${query}\n\n${form.told}`,
        context: context ?? own,
        output: form?.schema,
        config: { ...config, signal },
        signal,
        onEvent: (event) => {
          onEvent?.(event);
          tell(report.textFor(event));
        },
      });
      const ended = endedAs(result, form !== undefined);
      // A person before an empty answer wants to know why.
      if (result.answer === null) tell(`There is no answer: ${result.error?.message}`);
      return ended;
    };
  }

  #unknownModel(): HttpError {
    return new HttpError(404, `the only model here is ${this.name}`, {
      code: "model_not_found",
      param: "model",
    });
  }
}

function requireMethod({ method }: IncomingMessage, wanted: "GET" | "POST"): void {
  if (method === wanted || (wanted === "GET" && method === "HEAD")) return;
  throw new HttpError(405, `use ${wanted} for this path`, { headers: { allow: wanted } });
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
}

async function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, headers }: HttpError,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.write(text);
  await drain(request);
  response.end();
}
