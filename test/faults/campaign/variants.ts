import { setTimeout as sleep } from "node:timers/promises";
import { isCellarError } from "../../../src/errors.js";
import { DiskStore } from "../../../src/notebook/store/disk-store.js";
import {
  type BlobStore,
  blobKey,
  type HeadStore,
  type NotebookId,
  type NotebookStore,
} from "../../../src/notebook/store/store.js";

/** Stores that are wrong on purpose: a campaign that does not find them out is worth nothing. */
export const VARIANTS = ["early-answer", "no-fence", "unowned-delete"] as const;
export type Variant = (typeof VARIANTS)[number];

/** How late a store saves that answers before. */
const LATE_MS = 40;
const SWEEP_MS = 20;
const FENCE_TRIES = 5;

export function storeOf(dir: string, variant: Variant | undefined): NotebookStore | undefined {
  if (variant === undefined) return undefined;
  const store = new DiskStore(dir);
  const blobs: NotebookStore["blobs"] = (id, generation) => store.blobs(id, generation);
  switch (variant) {
    case "early-answer":
      return { heads: new EarlyHeads(store.heads), blobs };
    case "no-fence":
      return { heads: new UnfencedHeads(store.heads), blobs };
    case "unowned-delete":
      return new GreedyStore(store);
  }
}

/** Passes everything on; a variant changes what it is about. */
class PassingHeads implements HeadStore {
  protected readonly real: HeadStore;

  constructor(real: HeadStore) {
    this.real = real;
  }

  get(id: NotebookId): ReturnType<HeadStore["get"]> {
    return this.real.get(id);
  }

  revision(id: NotebookId): Promise<number> {
    return this.real.revision(id);
  }

  cas(id: NotebookId, head: unknown, expected: number): Promise<number> {
    return this.real.cas(id, head, expected);
  }

  list(user?: string): AsyncIterable<NotebookId> {
    return this.real.list(user);
  }

  delete(id: NotebookId, expected: number): Promise<void> {
    return this.real.delete(id, expected);
  }
}

/** Answers before it has saved. */
class EarlyHeads extends PassingHeads {
  #saving: Promise<unknown> = Promise.resolve();

  override async get(id: NotebookId): ReturnType<HeadStore["get"]> {
    await this.#saving;
    return this.real.get(id);
  }

  override async revision(id: NotebookId): Promise<number> {
    await this.#saving;
    return this.real.revision(id);
  }

  override async cas(id: NotebookId, head: unknown, expected: number): Promise<number> {
    this.#saving = this.#saving
      .then(() => sleep(LATE_MS))
      .then(() => this.real.cas(id, head, expected))
      .catch(() => {});
    return expected + 1;
  }
}

/** Writes over whatever is there by now, and never learns that somebody else did. */
class UnfencedHeads extends PassingHeads {
  #own = 0;

  override async get(id: NotebookId): ReturnType<HeadStore["get"]> {
    const found = await this.real.get(id);
    this.#own = found?.rev ?? 0;
    return found;
  }

  override async revision(): Promise<number> {
    return this.#own;
  }

  override async cas(id: NotebookId, head: unknown, expected: number): Promise<number> {
    for (let tries = 0; ; tries += 1) {
      const wanted = tries === 0 ? expected : ((await this.real.get(id))?.rev ?? 0);
      try {
        this.#own = await this.real.cas(id, head, wanted);
        return this.#own;
      } catch (error) {
        if (!isCellarError(error, "CONFLICT") || tries >= FENCE_TRIES) throw error;
      }
    }
  }
}

/** Deletes all content that it has not stored or found itself, whoever owns the notebook by now. */
class GreedyStore implements NotebookStore {
  readonly heads: HeadStore;
  readonly #real: NotebookStore;
  readonly #stores = new Map<string, BlobStore>();

  constructor(real: NotebookStore) {
    this.#real = real;
    this.heads = real.heads;
  }

  blobs(id: NotebookId, generation?: string): BlobStore {
    const key = `${id.user}/${id.session}/${generation}`;
    const known = this.#stores.get(key) ?? greedy(this.#real.blobs(id, generation));
    this.#stores.set(key, known);
    return known;
  }
}

function greedy(real: BlobStore): BlobStore {
  let known: Set<string> | undefined;
  let putting = 0;
  const sweep = async () => {
    const found: string[] = [];
    for await (const ref of real.list()) {
      const key = blobKey(ref);
      found.push(key);
      if (known !== undefined && putting === 0 && !known.has(key)) await real.delete(ref);
    }
    known ??= new Set(found);
  };
  const timer = setInterval(() => void sweep().catch(() => {}), SWEEP_MS);
  timer.unref();
  return {
    put: async (source) => {
      putting += 1;
      try {
        const ref = await real.put(source);
        known?.add(blobKey(ref));
        return ref;
      } finally {
        putting -= 1;
      }
    },
    get: (ref) => real.get(ref),
    has: (ref) => real.has(ref),
    delete: (ref) => real.delete(ref),
    list: (generation) => real.list(generation),
    generations: () => real.generations(),
    ...(real.locate && { locate: real.locate.bind(real) }),
  };
}
