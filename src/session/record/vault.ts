import type { BlobRef, BlobStore } from "../store/store.js";

/**
 * Keeps content that is on its way into a head from being deleted: the same bytes may leave with
 * an old cell just when a new one has put them in.
 */
export class Vault {
  readonly blobs: BlobStore;
  readonly #referred: () => ReadonlySet<string>;
  readonly #doomed = new Map<string, BlobRef>();
  #uploads = 0;
  #deleting: Promise<void> | undefined;
  #sweeping: Promise<void> | undefined;

  /** `referred` gives the digests of everything that the committed head stands on. */
  constructor(blobs: BlobStore, referred: () => ReadonlySet<string>) {
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

  /** Deletes what nothing refers to, as soon as nothing is on its way. */
  discard(refs: Iterable<BlobRef>): void {
    for (const ref of refs) this.#doomed.set(ref.sha256, ref);
    this.#clear();
  }

  /** Deletes, in the background, what a killed process has left. */
  sweep(): void {
    // Where it cannot look now, the next opening does.
    this.#sweeping = this.#findGarbage().catch(() => {});
  }

  async settle(): Promise<void> {
    await this.#sweeping;
    await this.#deleting;
  }

  async #findGarbage(): Promise<void> {
    const referred = this.#referred();
    const found: BlobRef[] = [];
    for await (const ref of this.blobs.list()) if (!referred.has(ref.sha256)) found.push(ref);
    this.discard(found);
  }

  #clear(): void {
    if (this.#uploads > 0 || this.#doomed.size === 0 || this.#deleting !== undefined) return;
    const referred = this.#referred();
    const garbage = [...this.#doomed.values()].filter(({ sha256 }) => !referred.has(sha256));
    this.#doomed.clear();
    if (garbage.length === 0) return;
    // What cannot be deleted now is found by the sweep of the next opening.
    this.#deleting = Promise.allSettled(garbage.map((ref) => this.blobs.delete(ref))).then(() => {
      this.#deleting = undefined;
      this.#clear();
    });
  }
}
