import { buffer } from "node:stream/consumers";
import type { StateManifest } from "../../protocol/messages.js";
import { stateManifestSchema } from "../../protocol/state-messages.js";
import type { Cell } from "../cell.js";
import type { NotebookContent } from "../interchange/notebook-content.js";
import type { BlobStore, NotebookId, NotebookStore } from "../store/store.js";
import { findCell } from "./cell-finding.js";
import { type NotebookDocument, nameOf, notFound, readDocument } from "./journal.js";
import { readResource } from "./resource-content.js";

/**
 * A notebook as it lies in its store. Nothing is opened: no Python is started, and nobody who has
 * it open is disturbed.
 */
export class NotebookView implements NotebookContent {
  readonly id: NotebookId;
  readonly title: string;
  readonly cells: readonly Cell[];
  readonly python: string | undefined;
  readonly sessionDir: string;
  readonly #blobs: BlobStore;

  private constructor(
    id: NotebookId,
    document: NotebookDocument,
    blobs: BlobStore,
    python: string | undefined,
  ) {
    this.id = id;
    this.title = nameOf(id);
    this.cells = document.records.map(({ cell }) => cell);
    this.python = python;
    this.sessionDir = document.sessionDir;
    this.#blobs = blobs;
  }

  static async read(store: NotebookStore, id: NotebookId): Promise<NotebookView> {
    const stored = await store.heads.get(id);
    if (stored === undefined) throw notFound(id);
    const document = await readDocument(stored, { store, id });
    const blobs = store.blobs(id);
    const manifest = await manifestOf(document, blobs);
    return new NotebookView(id, document, blobs, manifest?.python);
  }

  cell(key: number | string): Cell {
    return findCell(this.cells, key);
  }

  readonly resource = (uri: string) => readResource(this.cells, uri, this.#blobs);
}

/** Undefined also where it cannot be read; the cells are shown without it. */
async function manifestOf(
  document: NotebookDocument,
  blobs: BlobStore,
): Promise<StateManifest | undefined> {
  const kept = document.snapshots[0]?.manifest;
  if (kept === undefined || !("sha256" in kept)) return kept;
  try {
    const text = (await buffer(blobs.get(kept))).toString("utf8");
    return stateManifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
