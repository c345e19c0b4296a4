import { unlessAborted } from "../../concurrency/abort.js";
import { CellarError } from "../../errors.js";
import { Secrets } from "../source/plain-value.js";
import { PythonNames } from "../source/python-names.js";
import {
  type RegisteredTool,
  ToolError,
  type ToolOutput,
  type ToolRequest,
  type ToolSource,
} from "../tool.js";
import type { McpConnection } from "./connection.js";
import { declarationOf } from "./listed-tool.js";
import type { McpServer } from "./server-config.js";

/** `npx` may have to fetch the server first. */
const START_MS = 120_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const SECRET_NAME = /key|token|secret|pass|auth|credential|cookie/i;

export interface McpSourceOptions {
  readonly startMs?: number | undefined;
  /** The pause before a server that failed twice is started again; it doubles up to half a minute. */
  readonly pauseMs?: number | undefined;
}

/** The tools of one server, which is started when it is needed, and again when it has ended. */
export class McpServerSource implements ToolSource {
  readonly group: string;
  readonly #server: McpServer;
  readonly #secrets: Secrets;
  readonly #startMs: number;
  readonly #pauseMs: number;
  readonly #ending = new AbortController();
  #connection: Promise<McpConnection> | undefined;
  #tools: Promise<readonly RegisteredTool[]> | undefined;
  /** How often the server said that its tools changed. */
  #changes = 0;
  /** Since a call succeeded last. */
  #failures = 0;
  #failedAt = 0;
  #failure: ToolError | undefined;

  constructor(group: string, server: McpServer, options: McpSourceOptions = {}) {
    this.group = group;
    this.#server = server;
    this.#secrets = new Secrets(secretsOf(server));
    this.#startMs = options.startMs ?? START_MS;
    this.#pauseMs = options.pauseMs ?? FIRST_PAUSE_MS;
  }

  tools(signal?: AbortSignal): Promise<readonly RegisteredTool[]> {
    this.#tools ??= this.#list();
    return unlessAborted(this.#tools, signal);
  }

  /** The process of the server, if it is one and runs. */
  async pid(): Promise<number | undefined> {
    const connection = await this.#connection?.catch(() => undefined);
    return connection?.isOpen === true ? connection.pid : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the registry was closed"));
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.[Symbol.asyncDispose]();
  }

  async #list(): Promise<readonly RegisteredTool[]> {
    try {
      const connection = await this.#connected();
      const changes = this.#changes;
      const names = new PythonNames("tool");
      const tools = (await connection.list()).map((tool) => ({
        ...declarationOf(tool, names.take(tool.name), this.#server.transport),
        run: (request: ToolRequest) => this.#call(tool.name, request),
      }));
      if (changes !== this.#changes) this.#tools = undefined;
      return tools;
    } catch (error) {
      this.#tools = undefined;
      throw error;
    }
  }

  async #call(name: string, request: ToolRequest): Promise<ToolOutput> {
    const cancelled = () => new ToolError("CANCELLED", `the call to ${name} was cancelled`);
    const connection = await unlessAborted(this.#connected(), request.signal, cancelled);
    const output = await unlessAborted(connection.call(name, request), request.signal, cancelled);
    this.#failures = 0;
    return output;
  }

  #connected(): Promise<McpConnection> {
    if (this.#ending.signal.aborted) {
      return Promise.reject(
        new CellarError("SESSION_CLOSED", `the MCP server ${this.#server.name} was closed`),
      );
    }
    this.#connection ??= this.#start();
    return this.#connection;
  }

  async #start(): Promise<McpConnection> {
    const left = this.#failedAt + this.#pause() - Date.now();
    if (this.#failure !== undefined && left > 0) {
      this.#connection = undefined;
      const seconds = Math.ceil(left / 1000);
      const { code, message, remedy } = this.#failure;
      throw new ToolError(code, `${message} (not tried again for ${seconds} s)`, {
        isRetryable: true,
        remedy,
      });
    }
    const { McpConnection } = await import("./connection.js");
    const lost = (failure: ToolError) => {
      this.#connection = undefined;
      this.#failures += 1;
      this.#failedAt = Date.now();
      this.#failure = failure;
    };
    let isUp = false;
    try {
      const connection = await McpConnection.open(this.#server, {
        startMs: this.#startMs,
        signal: this.#ending.signal,
        secrets: this.#secrets,
        onToolsChanged: () => {
          this.#changes += 1;
          this.#tools = undefined;
        },
        onClose: () => {
          if (isUp) lost(ended(this.#server.name));
        },
      });
      isUp = true;
      return connection;
    } catch (error) {
      lost(error instanceof ToolError ? error : ended(this.#server.name));
      throw error;
    }
  }

  /** None after a first failure, since most servers work again when they are new. */
  #pause(): number {
    return this.#failures < 2
      ? 0
      : Math.min(this.#pauseMs * 2 ** (this.#failures - 2), LONGEST_PAUSE_MS);
  }
}

function ended(name: string): ToolError {
  return new ToolError("UNAVAILABLE", `the MCP server ${JSON.stringify(name)} ended`);
}

/** What an agent must not get to see of the settings of a server. */
function secretsOf(server: McpServer): readonly string[] {
  const isSecret = ([name, value]: [string, string]) => SECRET_NAME.test(name) && value.length >= 8;
  if (server.transport === "stdio") {
    return Object.entries(server.env)
      .filter(isSecret)
      .map(([, value]) => value);
  }
  const query = [...server.url.searchParams].filter(isSecret).map(([, value]) => value);
  const headers = Object.values(server.headers).flatMap((value) => [
    value,
    value.split(" ").pop() ?? "",
  ]);
  return [...query, ...headers.filter(({ length }) => length >= 8)];
}
