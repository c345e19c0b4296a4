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

/** Remembers what it puts into the store. */
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

/** Makes a new notebook of an `.ipynb` file, all of it or nothing. No Python is started. */
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
    // No run gets the number of a cell that came with one.
    const executionCount = Math.max(0, ...content.cells.map(({ number }) => number ?? 0));
    const document = { ...newDocument(owner), executionCount, records };
    const journal = await Journal.create({ store, id, owner, takeover: false }, document);
    await journal.release();
    return content;
  } catch (error) {
    // A head that is there all the same may be this one's own, and stand on this content.
    if ((await store.heads.get(id)) === undefined) await intake.takeBack();
    throw error;
  }
}
