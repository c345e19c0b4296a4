import { randomBytes } from "node:crypto";
import { currentOwner, type Owner } from "../store/owner.js";
import type { Seal } from "../store/seal.js";
import { type BlobStore, blobKey, type NotebookId, type NotebookStore } from "../store/store.js";
import { alreadyThere, blobsIn, Journal, type NotebookDocument } from "./journal.js";

/** Not named after the notebook, so that a new notebook finds nothing of a deleted one. */
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
    sessionDir: newSessionDirName(),
    executionCount: 0,
    executions: [],
    isShortened: false,
    records: [],
    snapshots: [],
    aside: [],
    private: null,
  };
}

export interface ForkPlan {
  readonly store: NotebookStore;
  readonly seal: Seal;
  readonly from: NotebookId;
  readonly to: NotebookId;
  readonly document: NotebookDocument;
  /** The run to continue from; 0 for the beginning. */
  readonly present: number;
  readonly sessionDir: string;
}

export async function makeFork(plan: ForkPlan): Promise<Journal> {
  const { store, to, from } = plan;
  if ((await store.heads.get(to)) !== undefined) throw alreadyThere(to);
  const owner = currentOwner();
  const document = forkedDocument(plan, owner);
  await adoptAll(store, from, to, document);
  return Journal.create({ store, id: to, owner, takeover: false }, document);
}

function forkedDocument(
  { document, to, present, sessionDir, seal }: ForkPlan,
  owner: Owner,
): NotebookDocument {
  const snapshots = document.snapshots
    .filter(({ sequence }) => sequence === present)
    .map((snapshot) => {
      const { sequence, blob } = snapshot;
      return { ...snapshot, seal: seal.sign({ ...to, seq: sequence, sha256: blob.sha256 }) };
    });
  const { records, executions, executionCount, isShortened } = document;
  return {
    ...newDocument(owner),
    sessionDir,
    records,
    executions,
    executionCount,
    isShortened,
    snapshots,
    private: document.private,
  };
}

async function adoptAll(
  store: NotebookStore,
  from: NotebookId,
  to: NotebookId,
  document: NotebookDocument,
): Promise<void> {
  const source = store.blobs(from);
  const targets = new Map<string | undefined, BlobStore>();
  const refs = new Map(blobsIn(document).map((ref) => [blobKey(ref), ref]));
  await Promise.all(
    [...refs.values()].map(async (ref) => {
      // Cells refer to blobs by generation, so it is kept.
      const target = targets.get(ref.generation) ?? store.blobs(to, ref.generation);
      targets.set(ref.generation, target);
      if (await target.adopt?.(ref, source)) return;
      await target.put(source.get(ref));
    }),
  );
}
