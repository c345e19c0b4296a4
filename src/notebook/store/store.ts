import type { Readable } from "node:stream";

/** Content by the SHA-256 of its bytes and the generation that stored it. */
export interface BlobRef {
  readonly sha256: string;
  readonly bytes: number;
  readonly generation?: string | undefined;
}

/**
 * Immutable content. What `put` has answered is durable. The same bytes put under two generations
 * are two things: deleting one, however late, never takes the other away.
 */
export interface BlobStore {
  /** Under the generation of this view. */
  put(source: AsyncIterable<Uint8Array> | Uint8Array): Promise<BlobRef>;
  /** Fails while reading with `DAMAGED` when the bytes are not those of the reference. */
  get(ref: BlobRef): Readable;
  has(ref: BlobRef): Promise<boolean>;
  delete(ref: BlobRef): Promise<void>;
  /** Of all generations, or of one: "" for what was stored without any. */
  list(generation?: string): AsyncIterable<BlobRef>;
  /** Which there may be, "" among them. */
  generations(): Promise<readonly string[]>;
  /** The content as a file of this machine. */
  locate?(ref: BlobRef): string;
  /** Takes content over from another store of the same kind, by the same reference. */
  adopt?(ref: BlobRef, from: BlobStore): Promise<boolean>;
}

export interface HeadRevision {
  /** Counts the commits of this head, from 1. */
  readonly rev: number;
  readonly head: unknown;
  /** Damaged files that were put aside, reported until there is a newer head. */
  readonly damaged?: readonly string[] | undefined;
}

/** The one mutable thing of a notebook: a small document that is only ever replaced as a whole. */
export interface HeadStore {
  /** The newest committed head; undefined where there is none. Linearizable. */
  get(id: NotebookId): Promise<HeadRevision | undefined>;
  /** The newest revision, 0 where there is none. Cheap, changes nothing. Linearizable. */
  revision(id: NotebookId): Promise<number>;
  /** Durable when answered. Fails with `CONFLICT` unless the head is still at `expected`; 0 makes it. */
  cas(id: NotebookId, head: unknown, expected: number): Promise<number>;
  list(user?: string): AsyncIterable<NotebookId>;
  /**
   * With all its content. Fails with `CONFLICT` unless the head is still at `expected`, and then
   * takes nothing away; whoever commits after it finds no head. 0 where there is none.
   */
  delete(id: NotebookId, expected: number): Promise<void>;
}

export function blobKey({ generation = "", sha256 }: BlobRef): string {
  return `${generation}/${sha256}`;
}

export interface NotebookId {
  readonly user: string;
  readonly session: string;
}

/** Where notebooks are kept: heads, and for each notebook the blobs that its head refers to. */
export interface NotebookStore {
  readonly heads: HeadStore;
  /** Each opening writes under a generation of its own, a name that is never used again. */
  blobs(id: NotebookId, generation?: string): BlobStore;
}
