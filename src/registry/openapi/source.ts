import { unlessAborted } from "../../concurrency/abort.js";
import { isPlain } from "../../config/layers.js";
import { CellarError } from "../../errors.js";
import type { Secrets } from "../source/plain-value.js";
import { pythonName } from "../source/python-names.js";
import {
  type RegisteredTool,
  ToolError,
  type ToolOutput,
  type ToolRequest,
  type ToolSource,
} from "../tool.js";
import { outputOf } from "./answer.js";
import {
  checkCredentials,
  isSetBy,
  type OpenApiCredentials,
  placeCredentials,
} from "./credentials.js";
import { type OpenApiDocument, readDocument, refused } from "./document.js";
import { type ExchangeLimits, exchange } from "./exchange.js";
import { type Operation, operationsOf } from "./operation.js";
import { References } from "./references.js";
import { requestOf } from "./request.js";

const LIMITS: ExchangeLimits = { timeoutMs: 60_000, maxBytes: 16 * 1024 * 1024 };

export interface OpenApiOptions {
  /** Python finds the operations as `tools.<name>.<operation>`. */
  readonly name: string;
  readonly document: OpenApiDocument;
  /** Where the service is; by default the first of the document's servers. */
  readonly baseUrl?: string | undefined;
  readonly credentials?: OpenApiCredentials | undefined;
  readonly limits?: Partial<ExchangeLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The operations of an OpenAPI document as tools. */
export function openApiSource(options: OpenApiOptions): ToolSource {
  checkCredentials(options.name, options.credentials);
  return new OpenApiSource(options);
}

class OpenApiSource implements ToolSource {
  readonly group: string;
  readonly #options: OpenApiOptions;
  readonly #limits: ExchangeLimits;
  readonly #ending = new AbortController();
  #tools: Promise<readonly RegisteredTool[]> | undefined;

  constructor(options: OpenApiOptions) {
    this.group = pythonName(options.name, "service");
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  tools(signal?: AbortSignal): Promise<readonly RegisteredTool[]> {
    this.#tools ??= this.#read().catch((error: unknown) => {
      this.#tools = undefined;
      throw error;
    });
    return unlessAborted(this.#tools, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the registry was closed"));
  }

  async #read(): Promise<readonly RegisteredTool[]> {
    const { name, document, baseUrl, credentials } = this.#options;
    const read = await readDocument(name, document);
    const base = baseOf(name, baseUrl ?? serverOf(read));
    const operations = operationsOf(read, new References(read), (place, parameter) =>
      isSetBy(credentials, place, parameter),
    );
    return operations.map((operation) => ({
      ...operation.declaration,
      run: (request: ToolRequest) => this.#call(operation, base, request),
    }));
  }

  async #call(operation: Operation, base: URL, request: ToolRequest): Promise<ToolOutput> {
    const { name, credentials, fetch = globalThis.fetch } = this.#options;
    const placed = placeCredentials(name, credentials);
    const http = requestOf(operation, request.arguments, base, placed);
    const signal = AbortSignal.any([request.signal, this.#ending.signal]);
    const answer = await exchange(fetch, http, this.#limits, signal).catch((error: unknown) => {
      throw withoutSecrets(error, placed.secrets);
    });
    return outputOf(answer, http.method, placed.secrets);
  }
}

/** The host's own `fetch` may quote the address. */
function withoutSecrets(error: unknown, secrets: Secrets): unknown {
  if (!(error instanceof ToolError)) return error;
  const { code, message, isRetryable, remedy } = error;
  return new ToolError(code, secrets.hide(message), { isRetryable, remedy });
}

/** The first server, with the defaults of its variables. */
function serverOf(document: Record<string, unknown>): string | undefined {
  const [server] = Array.isArray(document.servers) ? document.servers : [];
  if (!isPlain(server) || typeof server.url !== "string") return undefined;
  const variables = isPlain(server.variables) ? server.variables : {};
  return server.url.replace(/\{([^{}]*)\}/g, (whole, key: string) => {
    const variable = Object.hasOwn(variables, key) ? variables[key] : undefined;
    return isPlain(variable) && typeof variable.default === "string" ? variable.default : whole;
  });
}

function baseOf(name: string, text: string | undefined): URL {
  if (text === undefined || !URL.canParse(text)) {
    const why = text === undefined ? "names no server" : "names a server without a whole address";
    throw refused(name, why, "Give baseUrl, such as https://api.example.com/v1.");
  }
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || url.username + url.password + url.search !== "") {
    throw new CellarError("INVALID_CONFIG", `the base URL of ${name} cannot be used`, {
      remedy: "Give an http or https address without a name, a password or a query in it.",
    });
  }
  return url;
}
