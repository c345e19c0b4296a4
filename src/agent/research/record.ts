import { z } from "zod";
import { CellarError } from "../../errors.js";
import { MAX_NAME, MAX_QUERY, MAX_SUMMARY } from "./node.js";

export const RECORD_VERSION = 1;
export const MOST_NODES = 10_000;
export const MAX_LINKS = 16;

const count = z.int().nonnegative();
/** Earlier versions had prefixes that no function has any more. */
const id = z.string().regex(/^[A-Z]{1,2}[1-9][0-9]{0,8}$/, "not the id of a call");
const links = z.array(id).max(MAX_LINKS);

const entrySchema = z.strictObject({
  id,
  name: z.string().max(MAX_NAME),
  query: z.string().max(MAX_QUERY),
  summary: z.string().max(MAX_SUMMARY),
  turn: count,
  parents: links,
  refs: links,
  /** Null before the search. */
  semanticRefs: links.nullable(),
  key: z.string().max(64).nullable(),
  isUsed: z.boolean(),
  supersededBy: id.nullable(),
});

const recordSchema = z.strictObject({
  version: z.literal(RECORD_VERSION),
  turn: count,
  /** The last number of each prefix. */
  counters: z.record(z.string().regex(/^[A-Z]{1,2}$/), count),
  /** Calls that are no longer kept, by status. */
  collapsed: z.strictObject({ analyzed: count, pending: count, stale: count }),
  nodes: z
    .array(entrySchema)
    .max(MOST_NODES)
    .refine((nodes) => new Set(nodes.map((node) => node.id)).size === nodes.length, {
      error: "two nodes have the same id",
    }),
});

export type ResearchEntry = z.infer<typeof entrySchema>;
export type ResearchRecord = z.infer<typeof recordSchema>;

export function nothingCollapsed(): ResearchRecord["collapsed"] {
  return { analyzed: 0, pending: 0, stale: 0 };
}

export function readRecord(value: unknown): ResearchRecord {
  const { data: versioned } = z.object({ version: z.int().positive() }).safeParse(value);
  if (versioned !== undefined && versioned.version > RECORD_VERSION) {
    throw new CellarError(
      "DAMAGED",
      `the research context was written by a newer Cellar (version ${versioned.version})`,
      { remedy: `Update Cellar; this one reads version ${RECORD_VERSION}.` },
    );
  }
  const { data, error } = recordSchema.safeParse(value);
  if (data !== undefined) return data;
  const place = error.issues[0]?.path.join(".") ?? "";
  throw new CellarError(
    "DAMAGED",
    `not a research context${place === "" ? "" : `: ${place} is invalid`}`,
    { remedy: "Pass what toJSON() returned, or start with a new one.", cause: error },
  );
}
