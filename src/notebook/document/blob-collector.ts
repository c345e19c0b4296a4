import { type BlobRef, type BlobStore, blobKey } from "../store/store.js";

/**
 * Keeps content that is on its way into a head from being deleted: the same bytes may leave with
 * an old cell just when a new one has put them in. It needs no look at who owns the notebook: what
 * it deletes is named by a generation whose content no later owner takes into its head again.
 */
export class BlobCollector {
  readonly blobs: BlobStore;
  readonly #referred: () => ReadonlySet<string> | undefined;
  readonly #doomed = new Map<string, BlobRef>();
  #uploads = 0;
  #deleting: Promise<void> | undefined;
  #sweeping: Promise<void> | undefined;

  /**
   * `referred` gives the keys of everything that the committed head stands on; undefined while
   * that is not known, and nothing may be deleted.
   */
  constructor(blobs: BlobStore, referred: () => ReadonlySet<string> | undefined) {
    this.blobs = blobs;
    this.#referred = referred;
  }

  /** From the first `put` until the commit that refers to it. */
  async upload<T>(work: () => Promise<T>): Promise<T> {
    this.#uploads += 1;
    try {
      await this.#deleting;
      return await work();
    } finally {
      this.#uploads -= 1;
      this.#clear();
    }
  }

  /** Deletes what nothing refers to, once no upload is under way. */
  discard(refs: Iterable<BlobRef>): void {
    for (const ref of refs) this.#doomed.set(blobKey(ref), ref);
    this.#clear();
  }

  /** Deletes, in the background, what earlier owners left behind. */
  sweep(generations: readonly string[]): void {
    // The next opening tries again.
    this.#sweeping = this.#findGarbage(generations).catch(() => {});
  }

  async settle(): Promise<void> {
    await this.#sweeping;
    await this.#deleting;
  }

  async #findGarbage(generations: readonly string[]): Promise<void> {
    for (const generation of generations) {
      const found: BlobRef[] = [];
      for await (const ref of this.blobs.list(generation)) found.push(ref);
      this.discard(found);
    }
  }

  #clear(): void {
    if (this.#uploads > 0 || this.#doomed.size === 0 || this.#deleting !== undefined) return;
    const referred = this.#referred();
    if (referred === undefined) return;
    const garbage = [...this.#doomed].filter(([key]) => !referred.has(key)).map(([, ref]) => ref);
    this.#doomed.clear();
    if (garbage.length === 0) return;
    // The sweep of the next opening finds what could not be deleted.
    this.#deleting = Promise.allSettled(garbage.map((ref) => this.blobs.delete(ref))).then(() => {
      this.#deleting = undefined;
      this.#clear();
    });
  }
}
