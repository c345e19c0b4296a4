import { z } from "zod";
import { type CellarError, isCellarError } from "../errors.js";
import type { WebFetcher } from "../web/web-fetcher.js";
import type { WebPage } from "../web/web-page.js";
import type { WebSearch } from "../web/web-search.js";
import {
  type RegisteredTool,
  type ToolDeclaration,
  ToolError,
  type ToolErrorCode,
  type ToolSource,
} from "./tool.js";

export interface WebSourceOptions {
  readonly fetcher: WebFetcher;
  /** Without a provider, the searches say that there is none. */
  readonly search: WebSearch;
}

const MAX_CHARACTERS = 10_000_000;
/** Of one answer, which may be the bytes of a PDF in base64. */
const MAX_RESULT_BYTES = 48 * 1024 ** 2;
const TIMEOUT_MS = 60_000;

const LIMIT = {
  type: "integer",
  minimum: 1,
  maximum: 50,
  default: 5,
  description: "Results per query",
};

const SHARED = {
  category: "web",
  permissions: ["network"],
  allowedCallers: ["cell", "chain", "host"],
  isReadOnly: true,
  isDestructive: false,
  limits: { timeoutMs: TIMEOUT_MS, concurrency: 8, maxResultBytes: MAX_RESULT_BYTES },
} as const satisfies Partial<ToolDeclaration>;

const FETCH: ToolDeclaration = {
  ...SHARED,
  name: "web_fetch",
  description:
    "Reads a web page as Markdown, or text, JSON or a PDF at an address. Private addresses are refused.",
  parameters: {
    type: "object",
    properties: {
      url: { type: "string", description: "Begins with http:// or https://" },
      max_chars: {
        type: "integer",
        minimum: 1,
        maximum: MAX_CHARACTERS,
        default: 10_000,
        description: "Text beyond this is cut off",
      },
    },
    required: ["url"],
    additionalProperties: false,
  },
  returns:
    "A dict with kind and url; for a page or text also title, text, characters and is_truncated, for JSON value, for a PDF base64",
  examples: ['web_fetch("https://example.org/")'],
};

const SEARCH: ToolDeclaration = {
  ...SHARED,
  name: "web_search",
  description: "Searches the web.",
  parameters: {
    type: "object",
    properties: { query: { type: "string" }, limit: LIMIT },
    required: ["query"],
    additionalProperties: false,
  },
  returns: "A list of dicts with title, url and excerpt, best first",
  examples: ['web_search("history of the abacus", limit=3)'],
};

const BATCH: ToolDeclaration = {
  ...SHARED,
  name: "batch_web_search",
  description: "Searches the web for several queries, a few at a time.",
  parameters: {
    type: "object",
    properties: {
      queries: { type: "array", items: { type: "string" }, maxItems: 20 },
      limit: LIMIT,
    },
    required: ["queries"],
    additionalProperties: false,
  },
  returns: "For each query a dict with query and results, or with query and error",
  examples: ['batch_web_search(["abacus", "slide rule"])'],
};

const fetchSchema = z.object({ url: z.string(), max_chars: z.int().optional() });
const searchSchema = z.object({ query: z.string(), limit: z.int().optional() });
const batchSchema = z.object({ queries: z.array(z.string()), limit: z.int().optional() });

/** `web_fetch`, `web_search` and `batch_web_search`. */
export function webSource({ fetcher, search }: WebSourceOptions): ToolSource {
  const tools: readonly RegisteredTool[] = [
    toolOf(FETCH, fetchSchema, async ({ url, max_chars }, signal) =>
      pageValue(await fetcher.fetch(url, { maxCharacters: max_chars, signal })),
    ),
    toolOf(SEARCH, searchSchema, ({ query, limit }, signal) =>
      search.search(query, { limit, signal }),
    ),
    toolOf(BATCH, batchSchema, async ({ queries, limit }, signal) => {
      const outcomes = await search.searchAll(queries, { limit, signal });
      return outcomes.map((outcome) =>
        "error" in outcome ? { query: outcome.query, error: outcome.error.message } : outcome,
      );
    }),
  ];
  return {
    group: undefined,
    tools: async () => tools,
    [Symbol.asyncDispose]: async () => {},
  };
}

function toolOf<T>(
  declaration: ToolDeclaration,
  schema: z.ZodType<T>,
  work: (given: T, signal: AbortSignal) => Promise<unknown>,
): RegisteredTool {
  return {
    ...declaration,
    run: async ({ arguments: given, signal }) => {
      const parsed = schema.safeParse(given);
      if (!parsed.success) throw new ToolError("BAD_ARGUMENTS", z.prettifyError(parsed.error));
      try {
        return { value: await work(parsed.data, signal) };
      } catch (error) {
        throw isCellarError(error) ? toolErrorOf(error) : error;
      }
    },
  };
}

function pageValue(page: WebPage): Readonly<Record<string, unknown>> {
  const { kind, url } = page;
  if (page.kind === "json") return { kind, url, value: page.value };
  if (page.kind === "pdf") return { kind, url, base64: Buffer.from(page.bytes).toString("base64") };
  const { title = null, text, characters, isTruncated } = page;
  return { kind, url, title, text, characters, is_truncated: isTruncated };
}

const CODES: Readonly<Partial<Record<CellarError["code"], ToolErrorCode>>> = {
  INVALID_INPUT: "BAD_ARGUMENTS",
  TOO_LARGE: "TOO_LARGE",
  LIMIT_REACHED: "TIMEOUT",
  ABORTED: "CANCELLED",
  IO_ERROR: "UNAVAILABLE",
  REMOTE_ERROR: "UNAVAILABLE",
  PROTOCOL_ERROR: "BAD_RESULT",
};

export function toolErrorOf(error: CellarError): ToolError {
  const code = error.details.isRefused === true ? "NOT_PERMITTED" : CODES[error.code];
  return new ToolError(code ?? "FAILED", error.message, { remedy: error.remedy, cause: error });
}
