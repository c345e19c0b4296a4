import { alreadyThere, Journal } from "../record/journal.js";
import { pageOf } from "../record/pages.js";
import { newBook } from "../record/twin.js";
import { checkId } from "../store/names.js";
import { currentOwner } from "../store/owner.js";
import type { NotebookId, NotebookStore } from "../store/store.js";
import { type Import, importIpynb } from "./ipynb-import.js";

export interface ImportOrder extends NotebookId {
  readonly store: NotebookStore;
  readonly maxCells: number;
}

/** Makes a new notebook of an `.ipynb` file, all of it or nothing. No Python is started. */
export async function importNotebook(file: Uint8Array, order: ImportOrder): Promise<Import> {
  const { store, maxCells } = order;
  const id = checkId(order);
  if ((await store.heads.get(id)) !== undefined) throw alreadyThere(id);
  const blobs = store.blobs(id);
  const content = await importIpynb(file, { blobs, maxCells });
  const pages = await Promise.all(content.cells.map((cell) => pageOf(cell, blobs)));
  const owner = currentOwner();
  const book = { ...newBook(owner), pages };
  const journal = await Journal.create({ store, id, owner, takeover: false }, book);
  await journal.release();
  return content;
}
