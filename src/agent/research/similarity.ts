import { CellarError, describeError } from "../../errors.js";
import { cosine, type Embedder } from "./embedder.js";
import type { ResearchEntry } from "./record.js";

const MAX_REFS = 3;

export interface Related {
  readonly added: number;
  /** Set once, when the embedder failed; semantic references stop then. */
  readonly notice?: string;
}

/** Finds calls about the same subject. */
export class SimilarityIndex {
  /** By entry, since an id may be used again after a reset. */
  readonly #vectors = new WeakMap<ResearchEntry, Float32Array>();
  readonly #embedder: Embedder;
  readonly #threshold: number;

  constructor(embedder: Embedder, threshold: number) {
    this.#embedder = embedder;
    this.#threshold = threshold;
    if (!(Math.abs(threshold) <= 1)) {
      throw new CellarError("INVALID_CONFIG", "semanticThreshold must be between -1 and 1");
    }
  }

  /** Sets `semanticRefs` of the entries that have none yet, to earlier entries. */
  async relate(
    known: ReadonlyMap<string, ResearchEntry>,
    signal: AbortSignal | undefined,
  ): Promise<Related> {
    const entries = [...known.values()];
    if (entries.every(({ semanticRefs }) => semanticRefs !== null)) return { added: 0 };
    try {
      await this.#embed(entries, signal);
    } catch (error) {
      if (signal?.aborted) {
        throw new CellarError("ABORTED", "the search for related calls was aborted", {
          cause: error,
        });
      }
      const cause = `the embedder ${this.#embedder.name} failed: ${describeError(error)}`;
      return { added: 0, notice: `semantic references are off: ${cause}` };
    }
    let added = 0;
    for (const [index, entry] of entries.entries()) {
      if (entry.semanticRefs !== null) continue;
      entry.semanticRefs = this.#nearest(entry, entries.slice(0, index));
      added += entry.semanticRefs.length;
    }
    return { added };
  }

  async #embed(entries: readonly ResearchEntry[], signal: AbortSignal | undefined): Promise<void> {
    const missing = entries.filter((entry) => !this.#vectors.has(entry));
    const vectors = await this.#embedder.embed(missing.map(subjectOf), signal);
    const before = entries.map((entry) => this.#vectors.get(entry)).find(Boolean);
    const { length } = before ?? vectors[0] ?? [];
    if (vectors.length !== missing.length || vectors.some((vector) => vector.length !== length)) {
      throw new CellarError("REMOTE_ERROR", "its vectors differ in number or length");
    }
    for (const [index, entry] of missing.entries()) {
      this.#vectors.set(entry, vectors[index] as Float32Array);
    }
  }

  #nearest(entry: ResearchEntry, earlier: readonly ResearchEntry[]): string[] {
    const linked = new Set([...entry.parents, ...entry.refs]);
    return earlier
      .filter(({ id, supersededBy }) => supersededBy === null && !linked.has(id))
      .map((other) => ({ id: other.id, cosine: this.#cosine(entry, other) }))
      .filter((found) => found.cosine >= this.#threshold)
      .sort((one, other) => other.cosine - one.cosine)
      .slice(0, MAX_REFS)
      .map(({ id }) => id);
  }

  #cosine(one: ResearchEntry, other: ResearchEntry): number {
    const [a, b] = [this.#vectors.get(one), this.#vectors.get(other)];
    return a === undefined || b === undefined ? 0 : cosine(a, b);
  }
}

/** Without the names of functions and arguments, which make all calls look alike. */
function subjectOf({ query, summary }: ResearchEntry): string {
  return `${query.replace(/^\w+\(/, "").replace(/\b\w+=/g, "")}\n${summary}`;
}
