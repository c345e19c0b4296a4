import type { Readable } from "node:stream";

/** Content by the SHA-256 of its bytes. */
export interface BlobRef {
  readonly sha256: string;
  readonly bytes: number;
}

/** Immutable content. What `put` has answered is durable. */
export interface BlobStore {
  put(source: AsyncIterable<Uint8Array> | Uint8Array): Promise<BlobRef>;
  /** Fails while reading with `DAMAGED` when the bytes are not those of the reference. */
  get(ref: BlobRef): Readable;
  has(ref: BlobRef): Promise<boolean>;
  delete(ref: BlobRef): Promise<void>;
  list(): AsyncIterable<BlobRef>;
  /** Where the content lies as a file of this machine, for those who can hand files over. */
  locate?(ref: BlobRef): string;
  /** Takes content over from another store of the same kind, cheaper than by `get` and `put`. */
  adopt?(ref: BlobRef, from: BlobStore): Promise<boolean>;
}

export interface StoredHead {
  /** Counts the commits of this head, from 1. */
  readonly rev: number;
  readonly head: unknown;
  /** What was found damaged and put aside; told until there is a newer head. */
  readonly damaged?: readonly string[] | undefined;
}

/** The one mutable thing of a notebook: a small document that is only ever replaced as a whole. */
export interface HeadStore {
  /** The newest committed head; undefined where there is none. Linearizable. */
  get(id: NotebookId): Promise<StoredHead | undefined>;
  /** Durable when answered. Fails with `CONFLICT` unless the head is still at `expected`; 0 makes it. */
  cas(id: NotebookId, head: unknown, expected: number): Promise<number>;
  list(user?: string): AsyncIterable<NotebookId>;
  delete(id: NotebookId): Promise<void>;
}

export interface NotebookId {
  readonly user: string;
  readonly session: string;
}

/** Where notebooks are kept: heads, and for each notebook the blobs that its head refers to. */
export interface NotebookStore {
  readonly heads: HeadStore;
  blobs(id: NotebookId): BlobStore;
}
