import { CellarError } from "../../../src/errors.js";
import type {
  BlobStore,
  HeadRevision,
  HeadStore,
  NotebookId,
  NotebookStore,
} from "../../../src/notebook/store/store.js";

/** A store whose disk fails when it is told to. */
export class FaultyStore implements NotebookStore {
  /** Where a commit fails: before it is made, after it, or so that it cannot be read either. */
  fault: "before" | "after" | "blind" | undefined;
  readonly #inner: NotebookStore;

  constructor(inner: NotebookStore) {
    this.#inner = inner;
  }

  readonly heads: HeadStore = {
    get: async (id): Promise<HeadRevision | undefined> => {
      if (this.fault === "blind") throw broken();
      return await this.#inner.heads.get(id);
    },
    revision: async (id) => {
      if (this.fault === "blind") throw broken();
      return await this.#inner.heads.revision(id);
    },
    cas: async (id, head, expected) => {
      if (this.fault === "before") throw broken();
      const rev = await this.#inner.heads.cas(id, head, expected);
      if (this.fault !== undefined) throw broken();
      return rev;
    },
    list: (user) => this.#inner.heads.list(user),
    delete: (id, expected) => this.#inner.heads.delete(id, expected),
  };

  blobs(id: NotebookId, generation?: string): BlobStore {
    return this.#inner.blobs(id, generation);
  }
}

function broken(): CellarError {
  return new CellarError("IO_ERROR", "the disk failed: EIO", { details: { errno: "EIO" } });
}
