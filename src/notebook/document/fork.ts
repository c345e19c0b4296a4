import { randomBytes } from "node:crypto";
import { currentOwner, type Owner } from "../store/owner.js";
import type { Seal } from "../store/seal.js";
import { type BlobStore, blobKey, type NotebookId, type NotebookStore } from "../store/store.js";
import { alreadyThere, blobsIn, Journal, type NotebookDocument } from "./journal.js";

/** Rooms are not named after notebooks: one that is made anew finds nothing of a former one. */
export function newSessionDirName(): string {
  return randomBytes(16).toString("hex");
}

export function newDocument(owner: Owner): NotebookDocument {
  return {
    kind: "notebook",
    version: 2,
    owner,
    epoch: 1,
    createdAt: new Date().toISOString(),
    room: newSessionDirName(),
    executionCount: 0,
    executions: [],
    isShortened: false,
    pages: [],
    snapshots: [],
    aside: [],
    private: null,
  };
}

export interface ForkOrder {
  readonly store: NotebookStore;
  readonly seal: Seal;
  readonly from: NotebookId;
  readonly to: NotebookId;
  readonly book: NotebookDocument;
  /** The point of the timeline that it goes on from; 0 for the beginning. */
  readonly present: number;
  /** The name of its room. */
  readonly room: string;
}

/** Makes a notebook that has the cells and the present state of another one. */
export async function makeFork(order: ForkOrder): Promise<Journal> {
  const { store, to, from } = order;
  if ((await store.heads.get(to)) !== undefined) throw alreadyThere(to);
  const owner = currentOwner();
  const book = twinBook(order, owner);
  await adoptAll(store, from, to, book);
  return Journal.create({ store, id: to, owner, takeover: false }, book);
}

function twinBook({ book, to, present, room, seal }: ForkOrder, owner: Owner): NotebookDocument {
  const snapshots = book.snapshots
    .filter(({ sequence }) => sequence === present)
    .map((snapshot) => {
      const { sequence, blob } = snapshot;
      return { ...snapshot, seal: seal.sign({ ...to, seq: sequence, sha256: blob.sha256 }) };
    });
  const { pages, executions, executionCount, isShortened } = book;
  return {
    ...newDocument(owner),
    room,
    pages,
    executions,
    executionCount,
    isShortened,
    snapshots,
    private: book.private,
  };
}

async function adoptAll(
  store: NotebookStore,
  from: NotebookId,
  to: NotebookId,
  book: NotebookDocument,
): Promise<void> {
  const source = store.blobs(from);
  const targets = new Map<string | undefined, BlobStore>();
  const refs = new Map(blobsIn(book).map((ref) => [blobKey(ref), ref]));
  await Promise.all(
    [...refs.values()].map(async (ref) => {
      // The cells name their content, so it keeps its generation.
      const target = targets.get(ref.generation) ?? store.blobs(to, ref.generation);
      targets.set(ref.generation, target);
      if (await target.adopt?.(ref, source)) return;
      await target.put(source.get(ref));
    }),
  );
}
