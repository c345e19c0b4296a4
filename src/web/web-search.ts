import { unlessAborted } from "../concurrency/abort.js";
import { Semaphore } from "../concurrency/semaphore.js";
import { CellarError, describeError, isCellarError } from "../errors.js";
import { AbortTimer } from "../http/abort-timer.js";
import { cancelled, tookTooLong } from "./failures.js";
import { HttpSearchProvider, type HttpSearchProviderOptions } from "./http-search-provider.js";
import { readSearchResults, type SearchResult } from "./search-results.js";

const TIMEOUT_MS = 30_000;
const LIMIT = 5;
const MOST_RESULTS = 50;
const MOST_QUERIES = 20;
const AT_ONCE = 4;
const LONGEST_QUERY = 1000;

export interface SearchRequest {
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Answers one query, best first. What it gives is checked. */
export type SearchFunction = (query: string, request: SearchRequest) => Promise<unknown>;

/** An address that answers `/search?q=…&format=json` as SearXNG does, or a function. */
export type SearchProvider = HttpSearchProviderOptions | SearchFunction;

export interface WebSearchOptions {
  readonly provider?: SearchProvider | undefined;
  /** For one query. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

export interface QueryOptions {
  /** Results per query, at most 50. Default: 5. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The results of one query of several, or why there are none. */
export type QueryOutcome =
  | { readonly query: string; readonly results: readonly SearchResult[] }
  | { readonly query: string; readonly error: CellarError };

/** Searches by whatever provider was set. */
export class WebSearch {
  readonly #ask: SearchFunction | undefined;
  readonly #timeoutMs: number;

  constructor({ provider, timeoutMs = TIMEOUT_MS }: WebSearchOptions = {}) {
    this.#ask = askerOf(provider);
    this.#timeoutMs = timeoutMs;
  }

  async search(query: string, options: QueryOptions = {}): Promise<readonly SearchResult[]> {
    if (this.#ask === undefined) throw notSet();
    const limit = checkedLimit(options.limit ?? LIMIT);
    const text = checkedQuery(query);
    const name = `the search for ${JSON.stringify(text.slice(0, 100))}`;
    using timer = new AbortTimer(options.signal, this.#timeoutMs);
    const { signal } = timer;
    try {
      const found = await unlessAborted(this.#ask(text, { limit, signal }), signal);
      return readSearchResults(found, limit);
    } catch (error) {
      if (options.signal?.aborted === true) throw cancelled(name, options.signal.reason);
      if (timer.isTimeUp) throw tookTooLong(name, this.#timeoutMs);
      throw isCellarError(error) ? error : failed(name, error);
    }
  }

  /** Several queries, a few at a time; one that fails leaves the others alone. */
  async searchAll(
    queries: readonly string[],
    options: QueryOptions = {},
  ): Promise<readonly QueryOutcome[]> {
    if (this.#ask === undefined) throw notSet();
    if (queries.length > MOST_QUERIES) {
      throw new CellarError(
        "INVALID_INPUT",
        `${queries.length} queries are more than the ${MOST_QUERIES} of one call`,
        { remedy: `Give at most ${MOST_QUERIES} at a time.` },
      );
    }
    const turns = new Semaphore(AT_ONCE);
    return await Promise.all(
      queries.map((query) =>
        turns.run(async () => {
          try {
            return { query, results: await this.search(query, options) };
          } catch (error) {
            if (!isCellarError(error) || error.code === "ABORTED") throw error;
            return { query, error };
          }
        }),
      ),
    );
  }
}

function askerOf(provider: SearchProvider | undefined): SearchFunction | undefined {
  if (provider === undefined || typeof provider === "function") return provider;
  const http = new HttpSearchProvider(provider);
  return (query, { signal }) => http.ask(query, signal);
}

function notSet(): CellarError {
  return new CellarError("UNSUPPORTED", "there is no search provider", {
    remedy:
      "Continue without searching, or have one set: the address of a SearXNG server, or a function.",
  });
}

function checkedLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST_RESULTS) return limit;
  throw new CellarError("INVALID_INPUT", `${limit} is not a number of results`, {
    remedy: `Give a whole number from 1 to ${MOST_RESULTS}.`,
  });
}

function checkedQuery(query: string): string {
  const text = query.trim();
  if (text !== "" && text.length <= LONGEST_QUERY) return text;
  const why = text === "" ? "the query is empty" : `the query has ${text.length} characters`;
  throw new CellarError("INVALID_INPUT", why, {
    remedy: `Give from 1 to ${LONGEST_QUERY} characters.`,
  });
}

function failed(name: string, error: unknown): CellarError {
  return new CellarError("REMOTE_ERROR", `${name} failed: ${describeError(error)}`, {
    remedy: "Try again later, or with other words.",
    cause: error,
  });
}
