import { TaskQueue } from "../../concurrency/task-queue.js";
import { CellarError, isCellarError } from "../../errors.js";
import { describeOwner, heldHere, livenessOfOwner, type Owner } from "../store/owner.js";
import {
  type BlobRef,
  blobKey,
  type HeadRevision,
  type NotebookId,
  type NotebookStore,
} from "../store/store.js";
import { BlobCollector } from "./blob-collector.js";
import { balanced, blobsOf, type CellRecord, readRecord } from "./cell-records.js";
import { type NotebookHead, ownerIn, parseHead, savedHead } from "./head.js";

export interface NotebookDocument extends Omit<NotebookHead, "cells"> {
  readonly records: readonly CellRecord[];
}

export interface JournalPlan {
  readonly store: NotebookStore;
  readonly id: NotebookId;
  readonly owner: Owner;
  /** Takes the notebook from an owner that runs, or may run. */
  readonly takeover: boolean;
  /** For a notebook that does not exist; undefined to fail with `NOT_FOUND`. */
  readonly create: (() => NotebookDocument) | undefined;
}

const OPENING_TRIES = 10;
const LEASE_CHECK_MS = 2_000;

/** Writes the head of a notebook: each change is one compare-and-set. */
export class Journal {
  readonly blobCollector: BlobCollector;
  readonly damaged: readonly string[];
  readonly isNew: boolean;
  /** The owner that did not close it. */
  readonly former: Owner | null;
  readonly #plan: JournalPlan;
  readonly #queue = new TaskQueue();
  #document: NotebookDocument;
  #rev: number;
  /** A write failed, and the store was not read since. */
  #isUncertain = false;
  #fence: CellarError | undefined;
  #onTakenOver: (() => void) | undefined;

  constructor(
    plan: JournalPlan,
    document: NotebookDocument,
    rev: number,
    stored: HeadRevision | undefined,
  ) {
    this.#plan = plan;
    this.#document = document;
    this.#rev = rev;
    this.damaged = stored?.damaged ?? [];
    this.isNew = stored === undefined;
    this.former = ownerIn(stored?.head) ?? null;
    // A generation of its own keeps former owners from deleting these blobs.
    const blobs = plan.store.blobs(plan.id, plan.owner.incarnation);
    this.blobCollector = new BlobCollector(blobs, () =>
      this.#isUncertain ? undefined : this.#keys,
    );
  }

  static async open(plan: JournalPlan): Promise<Journal> {
    const { heads } = plan.store;
    for (let tries = 1; ; tries++) {
      const stored = await heads.get(plan.id);
      const found = await nextDocument(plan, stored);
      // Owners in this list cannot commit any more after the commit below.
      const former = stored && (await plan.store.blobs(plan.id).generations());
      try {
        const rev = await claimed(plan, () =>
          heads.cas(plan.id, savedDocument(found), stored?.rev ?? 0),
        );
        const journal = new Journal(plan, found, rev, stored);
        // Nobody knows which blobs an unreadable record refers to.
        const isWhole = !found.records.some(({ isDamaged }) => isDamaged);
        if (former !== undefined && isWhole) journal.blobCollector.sweep(former);
        return journal;
      } catch (error) {
        // Another process was faster; the next try says which.
        if (!isCellarError(error, "CONFLICT") || tries >= OPENING_TRIES) throw error;
      }
    }
  }

  static async create(
    plan: Omit<JournalPlan, "create">,
    document: NotebookDocument,
  ): Promise<Journal> {
    const { store, id } = plan;
    const claim = () => store.heads.cas(id, savedDocument(document), 0);
    const rev = await claimed(plan, claim).catch((error: unknown) => {
      throw isCellarError(error, "CONFLICT") ? alreadyThere(id, error) : error;
    });
    const journal = new Journal({ ...plan, create: undefined }, document, rev, undefined);
    try {
      await journal.#checkContent();
      return journal;
    } catch (error) {
      await journal.remove().catch(() => {});
      throw error;
    }
  }

  get document(): NotebookDocument {
    return this.#document;
  }

  /** Looks for a takeover now and then, since a long cell commits nothing. */
  watchLease(onTakenOver: () => void): Disposable {
    this.#onTakenOver = onTakenOver;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const look = async () => {
      // A store that cannot be read now says nothing about the lease.
      await this.confirm().catch(() => {});
      arm();
    };
    const arm = () => {
      if (!isOver) timer = setTimeout(() => void look(), LEASE_CHECK_MS).unref();
    };
    arm();
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        clearTimeout(timer);
      },
    };
  }

  /** Fails once another process has taken the notebook over. */
  check(): void {
    if (this.#fence !== undefined) throw this.#fence;
  }

  get isFenced(): boolean {
    return this.#fence !== undefined;
  }

  /** What is stored after all pending writes; undefined where it cannot be read. */
  saved(): Promise<NotebookDocument | undefined> {
    return this.#queue.run(async () => {
      if (this.#isUncertain) await this.#reload(undefined).catch(() => {});
      return this.#isUncertain ? undefined : this.#document;
    });
  }

  /** As `check`, but asks the store. */
  async confirm(): Promise<void> {
    this.check();
    const { store, id, owner } = this.#plan;
    if ((await store.heads.revision(id)) === this.#rev) return;
    const stored = await store.heads.get(id);
    const present = ownerIn(stored?.head);
    if (present?.incarnation !== owner.incarnation) throw this.#close(present, undefined);
  }

  /** Durable when it returns; after a failure `document` is what is stored, unless that is uncertain. */
  commit(
    change: (now: NotebookDocument) => NotebookDocument | Promise<NotebookDocument>,
  ): Promise<void> {
    const write = async () => this.#write(await change(this.#document));
    return this.#queue.run(async () => {
      this.check();
      try {
        await write();
      } catch (error) {
        if (!isCellarError(error, "CONFLICT")) throw await this.#recall(error);
        // The conflict may be with this owner's own write, whose answer was lost.
        await this.#reload(error);
        await write().catch(async (again: unknown) => {
          throw await this.#recall(again);
        });
      }
    });
  }

  async release(): Promise<void> {
    try {
      if (this.#fence === undefined) await this.commit((now) => ({ ...now, owner: null }));
    } catch (error) {
      if (this.#fence === undefined) throw error;
    } finally {
      heldHere().delete(this.#plan.owner.incarnation);
      await this.blobCollector.settle();
    }
  }

  /** Deletes the notebook, unless another process has taken it over meanwhile. */
  async remove(): Promise<void> {
    const { store, id, owner } = this.#plan;
    try {
      await this.blobCollector.settle();
      await this.#queue.run(async () => {
        this.check();
        // The number may belong to a new notebook of the same name by now.
        await this.#reload(undefined);
        await store.heads.delete(id, this.#rev).catch(async (error: unknown) => {
          if (isCellarError(error, "CONFLICT")) await this.#reload(error);
          throw error;
        });
      });
    } finally {
      heldHere().delete(owner.incarnation);
    }
  }

  async #write(wanted: NotebookDocument): Promise<void> {
    const { store, id } = this.#plan;
    const before = this.#document;
    if (wanted === before) return;
    await this.blobCollector.upload(async () => {
      const records = await balanced(wanted.records, this.blobCollector.blobs);
      const next = records === wanted.records ? wanted : { ...wanted, records };
      try {
        this.#rev = await store.heads.cas(id, savedDocument(next), this.#rev);
      } catch (error) {
        this.#isUncertain = true;
        throw error;
      }
      this.#isUncertain = false;
      this.#document = next;
    });
    this.#discard(before);
  }

  async #recall(error: unknown): Promise<unknown> {
    await this.#reload(error).catch(() => {});
    return error;
  }

  async #reload(conflict: unknown): Promise<void> {
    const { store, id } = this.#plan;
    const before = this.#document;
    const stored = await store.heads.get(id);
    const document = stored && (await readDocument(stored, this.#plan));
    const { incarnation } = this.#plan.owner;
    if (document?.owner?.incarnation !== incarnation || document.epoch !== before.epoch) {
      throw this.#close(document?.owner ?? undefined, conflict);
    }
    this.#document = document;
    this.#rev = (stored as HeadRevision).rev;
    this.#isUncertain = false;
    this.#discard(before);
  }

  #close(owner: Owner | undefined, cause: unknown): CellarError {
    const by = owner === undefined ? "another process" : describeOwner(owner);
    this.#fence ??= new CellarError("CONFLICT", `the notebook was taken over by ${by}`, {
      remedy: "Everything acknowledged is saved. Open the notebook again to continue.",
      details: owner === undefined ? {} : { owner },
      cause,
    });
    this.#onTakenOver?.();
    return this.#fence;
  }

  /** Blobs stored ahead are gone if a notebook of this name was deleted meanwhile. */
  async #checkContent(): Promise<void> {
    const { blobs } = this.blobCollector;
    const found = await Promise.all(blobsIn(this.#document).map((ref) => blobs.has(ref)));
    if (!found.includes(false)) return;
    throw new CellarError("CONFLICT", "a notebook of the same name was deleted at the same time", {
      remedy: "Try again.",
    });
  }

  #discard(before: NotebookDocument): void {
    const kept = this.#keys;
    this.blobCollector.discard(blobsIn(before).filter((ref) => !kept.has(blobKey(ref))));
  }

  get #keys(): ReadonlySet<string> {
    return new Set(blobsIn(this.#document).map(blobKey));
  }
}

export function alreadyThere(id: NotebookId, cause?: unknown): CellarError {
  return new CellarError("CONFLICT", `there is a notebook ${nameOf(id)} already`, {
    remedy: "Take another name.",
    details: { named: nameOf(id) },
    cause,
  });
}

export function notFound(id: NotebookId): CellarError {
  return new CellarError("NOT_FOUND", `there is no notebook ${nameOf(id)}`, {
    remedy: "`cellar notebook list` and Notebook.list() show which there are.",
  });
}

export function nameOf({ user, session }: NotebookId): string {
  return `${user}/${session}`;
}

export function blobsIn({ records, snapshots, aside }: NotebookDocument): BlobRef[] {
  const kept = [...snapshots, ...aside.map(({ snapshot }) => snapshot)];
  return [
    ...records.flatMap(blobsOf),
    ...kept.flatMap(({ blob, manifest }) => ("sha256" in manifest ? [blob, manifest] : [blob])),
  ];
}

export async function readDocument(
  stored: HeadRevision,
  { store, id }: Pick<JournalPlan, "store" | "id">,
): Promise<NotebookDocument> {
  const { cells, ...head } = parseHead(stored.head, nameOf(id));
  const blobs = store.blobs(id);
  const runs = new Map(head.executions.map(({ cell, sequence }) => [cell, sequence]));
  const records = await Promise.all(
    cells.map((entry, index) =>
      readRecord(entry, { index, ran: runs.get(entry.id) ?? null }, blobs),
    ),
  );
  return { ...head, records };
}

async function nextDocument(
  plan: JournalPlan,
  stored: HeadRevision | undefined,
): Promise<NotebookDocument> {
  const { id, owner, takeover, create } = plan;
  if (stored === undefined) {
    if (create !== undefined) return { ...create(), owner };
    throw notFound(id);
  }
  const document = await readDocument(stored, plan);
  const rival = document.owner !== null && mayLive(document.owner) ? document.owner : undefined;
  if (rival !== undefined && !takeover) throw held(id, rival);
  const { sessionDirSharedWith: earlier } = document;
  const sessionDirSharedWith = earlier !== undefined && mayLive(earlier) ? earlier : rival;
  return { ...document, owner, epoch: document.epoch + 1, sessionDirSharedWith };
}

function mayLive(owner: Owner): boolean {
  return livenessOfOwner(owner) !== "dead";
}

async function claimed<T>({ owner }: Pick<JournalPlan, "owner">, claim: () => Promise<T>) {
  heldHere().add(owner.incarnation);
  try {
    return await claim();
  } catch (error) {
    heldHere().delete(owner.incarnation);
    throw error;
  }
}

function held(id: NotebookId, owner: Owner): CellarError {
  const message = `the notebook ${nameOf(id)} is open in ${describeOwner(owner)}`;
  return new CellarError("LOCKED", message, {
    remedy: "Close it there, or open it with takeover: true, which ends it there.",
    details: { owner, liveness: livenessOfOwner(owner) },
  });
}

function savedDocument({ records, ...head }: NotebookDocument): unknown {
  return savedHead({ ...head, version: 2, cells: records.map(({ entry }) => entry) });
}
