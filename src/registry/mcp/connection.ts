import { Client, ProtocolError, SdkHttpError } from "@modelcontextprotocol/client";
import { z } from "zod";
import { keepingAlive } from "../../concurrency/keep-alive.js";
import { waitAtMost } from "../../concurrency/wait.js";
import { packageVersion } from "../../config/environment.js";
import type { Secrets } from "../source/plain-value.js";
import { ToolError, type ToolOutput, type ToolRequest } from "../tool.js";
import { callFailure, startFailure } from "./call-failure.js";
import { ChildTransport } from "./child-transport.js";
import { HttpTransport } from "./http-transport.js";
import { type ListedTool, listedToolSchema } from "./listed-tool.js";
import { outputOf, resultSchema } from "./result.js";
import type { McpServer } from "./server-config.js";

const MOST_TOOLS = 512;
const MOST_PAGES = 64;
const LONGEST_PROGRESS = 500;
const LIST_MS = 60_000;
/** The tool's own limit comes with the signal; this one is for a caller that forgot it. */
const CALL_MS = 3_600_000;
const GOODBYE_MS = 1_000;

const pageSchema = z.object({
  tools: z.array(z.unknown()),
  nextCursor: z.string().max(10_000).optional(),
});

export interface ConnectionOptions {
  readonly startMs: number;
  /** Aborted when nobody needs the server any more. */
  readonly signal: AbortSignal;
  readonly secrets: Secrets;
  readonly onToolsChanged: () => void;
  readonly onClose: () => void;
}

/** A server that runs, from its handshake to its end. */
export class McpConnection implements AsyncDisposable {
  readonly #server: McpServer;
  readonly #secrets: Secrets;
  readonly #client: Client;
  readonly #transport: ChildTransport | HttpTransport;
  #isOpen = true;

  private constructor(server: McpServer, options: ConnectionOptions) {
    this.#server = server;
    this.#secrets = options.secrets;
    this.#transport =
      server.transport === "stdio" ? new ChildTransport(server) : new HttpTransport(server);
    this.#client = new Client({ name: "cellar", version: packageVersion() });
    this.#client.setNotificationHandler("notifications/tools/list_changed", options.onToolsChanged);
    this.#client.onclose = () => {
      this.#isOpen = false;
      options.onClose();
    };
    // Calls learn of failures by themselves.
    this.#client.onerror = () => {};
  }

  static async open(server: McpServer, options: ConnectionOptions): Promise<McpConnection> {
    const connection = new McpConnection(server, options);
    const { startMs: timeout, signal } = options;
    try {
      await keepingAlive(connection.#client.connect(connection.#transport, { timeout, signal }));
      return connection;
    } catch (error) {
      await connection.#transport.close();
      throw startFailure(error, connection.#told());
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The process, where the server is one. */
  get pid(): number | undefined {
    return this.#transport instanceof ChildTransport ? this.#transport.pid : undefined;
  }

  /** The first tools, up to a limit; entries that describe none are left out. */
  async list(): Promise<readonly ListedTool[]> {
    const tools: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && tools.length < MOST_TOOLS; page++) {
      const request = { method: "tools/list", params: cursor === undefined ? {} : { cursor } };
      const listed = await this.#guarded(undefined, () =>
        this.#client.request(request, pageSchema, { timeout: LIST_MS }),
      );
      tools.push(...listed.tools.flatMap((tool) => listedToolSchema.safeParse(tool).data ?? []));
      if (listed.nextCursor === undefined || listed.nextCursor === cursor) break;
      cursor = listed.nextCursor;
    }
    return tools.slice(0, MOST_TOOLS);
  }

  async call(
    name: string,
    { arguments: given, signal, onProgress }: ToolRequest,
  ): Promise<ToolOutput> {
    const request = { method: "tools/call", params: { name, arguments: given } };
    const result = await this.#guarded(signal, () =>
      this.#client.request(request, resultSchema, {
        signal,
        timeout: CALL_MS,
        ...(onProgress !== undefined && {
          onprogress: (progress) => onProgress(this.#secrets.hide(progressText(progress))),
        }),
      }),
    );
    return outputOf(result, this.#secrets);
  }

  async #guarded<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await keepingAlive(work());
    } catch (error) {
      // An HTTP server that forgot the session, or is away, is asked anew.
      if (this.#server.transport === "http" && isLost(error)) void this[Symbol.asyncDispose]();
      throw callFailure(error, signal, this.#told());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    if (wasOpen && this.#transport instanceof HttpTransport) {
      await waitAtMost(
        GOODBYE_MS,
        this.#transport.terminateSession().catch(() => {}),
      );
    }
    await this.#transport.close();
  }

  #told() {
    const words = this.#transport instanceof ChildTransport ? this.#transport.lastWords : "";
    return { server: this.#server.name, words, secrets: this.#secrets };
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof SdkHttpError) return [400, 404, 410].includes(error.status ?? 0);
  const own = error instanceof ProtocolError ? error.data : error;
  if (own instanceof ToolError) return own.code === "UNAVAILABLE";
  return error instanceof TypeError;
}

function progressText(progress: {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}): string {
  const { progress: done, total, message } = progress;
  const count = total === undefined ? String(done) : `${done}/${total}`;
  return (message === undefined ? count : `${message} (${count})`).slice(0, LONGEST_PROGRESS);
}
