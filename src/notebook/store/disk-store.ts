import { join, resolve } from "node:path";
import { DiskBlobs } from "./disk-blobs.js";
import { DiskHeads } from "./disk-heads.js";
import type { BlobStore, NotebookId, NotebookStore } from "./store.js";

/** Notebooks in a folder of a local disk: `notebooks/<user>/<session>/`, each with its `blobs`. */
export class DiskStore implements NotebookStore {
  readonly heads: DiskHeads;
  readonly #folder: string;

  constructor(dir: string) {
    this.#folder = join(resolve(dir), "notebooks");
    this.heads = new DiskHeads(this.#folder);
  }

  blobs(id: NotebookId, generation?: string): BlobStore {
    const root = join(this.heads.folderOf(id), "blobs");
    return new DiskBlobs(root, { top: this.#folder, generation });
  }
}
