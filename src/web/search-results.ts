import { z } from "zod";
import { CellarError } from "../errors.js";

const LONGEST_TITLE = 300;
const LONGEST_URL = 4096;
const LONGEST_EXCERPT = 1000;
const SHOWN_URL = /^https?:\/\//i;

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly excerpt: string;
}

/** SearXNG calls the excerpt `content`. */
const resultSchema = z.object({
  title: z.string().nullish(),
  url: z.string(),
  excerpt: z.string().nullish(),
  content: z.string().nullish(),
});
const listSchema = z.array(z.unknown());
const answerSchema = z.object({ results: listSchema });

/** The results in an answer, or in a plain list; those without an address of the web are left out. */
export function readSearchResults(found: unknown, limit: number): readonly SearchResult[] {
  const list = listSchema.safeParse(found);
  const answer = list.success ? { results: list.data } : answerSchema.safeParse(found).data;
  if (answer === undefined) {
    throw new CellarError("PROTOCOL_ERROR", "the search provider gave no list of results", {
      remedy: 'It must give [{title, url, excerpt}], or {"results": [...]} as SearXNG does.',
    });
  }
  const results: SearchResult[] = [];
  for (const each of answer.results) {
    if (results.length >= limit) break;
    const result = resultSchema.safeParse(each).data;
    if (result === undefined || !SHOWN_URL.test(result.url) || result.url.length > LONGEST_URL) {
      continue;
    }
    results.push({
      title: line(result.title, LONGEST_TITLE),
      url: result.url,
      excerpt: line(result.excerpt ?? result.content, LONGEST_EXCERPT),
    });
  }
  return results;
}

function line(text: string | null | undefined, most: number): string {
  return (text ?? "")
    .slice(0, 2 * most)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, most);
}
