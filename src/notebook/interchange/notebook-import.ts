import { wrongKind } from "../../config/kinds.js";
import { recordOf } from "../document/cell-records.js";
import { newDocument } from "../document/fork.js";
import { alreadyThere, Journal } from "../document/journal.js";
import { checkId } from "../store/names.js";
import { currentOwner } from "../store/owner.js";
import type { BlobRef, BlobStore, NotebookId, NotebookStore } from "../store/store.js";
import { type Import, importIpynb } from "./ipynb-import.js";

export interface ImportTarget extends NotebookId {
  readonly store: NotebookStore;
  readonly maxCells: number;
}

/** Remembers the blobs it stores, to delete them on failure. */
class BlobIntake implements Pick<BlobStore, "put"> {
  readonly #blobs: BlobStore;
  readonly #taken: BlobRef[] = [];

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  async put(source: Parameters<BlobStore["put"]>[0]): Promise<BlobRef> {
    const ref = await this.#blobs.put(source);
    this.#taken.push(ref);
    return ref;
  }

  async takeBack(): Promise<void> {
    await Promise.allSettled(this.#taken.map((ref) => this.#blobs.delete(ref)));
  }
}

/** Creates a notebook from an `.ipynb` file, without starting Python. */
export async function importNotebook(
  file: Uint8Array | string,
  target: ImportTarget,
): Promise<Import> {
  const bytes = typeof file === "string" ? Buffer.from(file) : file;
  if (!(bytes instanceof Uint8Array)) throw wrongKind("the file", "a text or bytes", file);
  const { store, maxCells } = target;
  const id = checkId(target);
  if ((await store.heads.get(id)) !== undefined) throw alreadyThere(id);
  const owner = currentOwner();
  const intake = new BlobIntake(store.blobs(id, owner.incarnation));
  try {
    const content = await importIpynb(bytes, { blobs: intake, maxCells });
    const records = await Promise.all(content.cells.map((cell) => recordOf(cell, intake)));
    // New runs count on from the numbers of imported cells.
    const executionCount = Math.max(0, ...content.cells.map(({ number }) => number ?? 0));
    const document = { ...newDocument(owner), executionCount, records };
    const journal = await Journal.create({ store, id, owner, takeover: false }, document);
    await journal.release();
    return content;
  } catch (error) {
    // An existing head may be ours and refer to these blobs.
    if ((await store.heads.get(id)) === undefined) await intake.takeBack();
    throw error;
  }
}
