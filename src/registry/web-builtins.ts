import { z } from "zod";
import { CellarError, describeError, isCellarError } from "../errors.js";
import type { HttpCalls } from "../web/http-calls.js";
import type { WebFetcher } from "../web/web-fetcher.js";
import type { WebSearch } from "../web/web-search.js";
import type { BuiltinTool } from "./declarations/source.js";
import { ToolError } from "./tool.js";
import { toolErrorOf } from "./web-source.js";

export interface WebParts {
  readonly fetcher: WebFetcher;
  readonly search: WebSearch;
  readonly calls: HttpCalls;
}

const requestSchema = z.object({
  url: z.string(),
  headers: z.record(z.string(), z.unknown()).optional(),
  body: z.unknown().optional(),
  max_chars: z.int().positive().default(50_000),
});
const searchSchema = z.object({ query: z.string(), count: z.int().optional() });
const researchSchema = z.object({
  query: z.string(),
  pages: z.int().positive().max(10).default(3),
  max_chars: z.int().positive().default(4_000),
});
const articleSchema = z.object({
  title: z.string().min(1).max(300),
  language: z.string().regex(/^[a-z]{2,3}(-[a-z]{2,8})?$/, "a language's code, such as en"),
  max_chars: z.int().positive().default(10_000),
});

/** Built-ins of declarations that reach the network, through the same checks as `web_fetch`. */
export function webBuiltins({ fetcher, search, calls }: WebParts): Record<string, BuiltinTool> {
  const send = (method: "GET" | "POST") =>
    builtin(requestSchema, ({ max_chars: maxCharacters, ...given }, signal) =>
      calls.send({ ...given, method, maxCharacters, signal }),
    );
  return {
    http_get: send("GET"),
    http_post: send("POST"),
    web_search: builtin(searchSchema, async ({ query, count }, signal) => {
      const found = await search.search(query, { limit: count, signal });
      return found.map(({ title, url, excerpt }) => ({ title, url, snippet: excerpt }));
    }),
    web_research: builtin(researchSchema, async ({ query, pages, max_chars }, signal) => {
      const found = await search.search(query, { limit: pages, signal });
      return await Promise.all(
        found.map(async ({ title, url, excerpt }) => ({
          title,
          url,
          snippet: excerpt,
          ...(await textAt(fetcher, url, max_chars, signal)),
        })),
      );
    }),
    fetch_wikipedia: builtin(articleSchema, async ({ title, language, max_chars }, signal) => {
      const name = encodeURIComponent(title.replaceAll(" ", "_"));
      const address = `https://${language}.wikipedia.org/wiki/${name}`;
      const page = await fetcher.fetch(address, { maxCharacters: max_chars, signal });
      const text = page.kind === "page" || page.kind === "text" ? page.text : "";
      return { title, url: page.url, text };
    }),
  };
}

function builtin<T>(
  schema: z.ZodType<T>,
  work: (given: T, signal: AbortSignal) => Promise<unknown>,
): BuiltinTool {
  return async ({ arguments: given, signal }) => {
    const parsed = schema.safeParse(given);
    if (!parsed.success) throw new ToolError("BAD_ARGUMENTS", z.prettifyError(parsed.error));
    try {
      return { value: await work(parsed.data, signal) };
    } catch (error) {
      throw isCellarError(error) ? toolErrorOf(error) : error;
    }
  };
}

/** One page that cannot be read leaves the others alone. */
async function textAt(fetcher: WebFetcher, url: string, most: number, signal: AbortSignal) {
  try {
    const page = await fetcher.fetch(url, { maxCharacters: most, signal });
    if (page.kind === "page" || page.kind === "text") return { text: page.text };
    return { error: `it is ${page.kind}: use web_fetch` };
  } catch (error) {
    if (error instanceof CellarError && error.code === "ABORTED") throw error;
    return { error: describeError(error) };
  }
}
