import { TaskQueue } from "../../backends/family/queue.js";
import { livenessOf } from "../../backends/native/process-mark.js";
import { CellarError, isCellarError } from "../../errors.js";
import { describeOwner, type Owner } from "../store/owner.js";
import type { BlobRef, NotebookId, NotebookStore, StoredHead } from "../store/store.js";
import { type NotebookHead, parseHead } from "./notebook-head.js";
import { balanced, blobsOf, type Page, readPage } from "./pages.js";
import { Vault } from "./vault.js";

/** What a notebook is made of, as the newest head has it. */
export interface Book extends Omit<NotebookHead, "cells"> {
  readonly pages: readonly Page[];
}

export interface JournalPlan {
  readonly store: NotebookStore;
  readonly id: NotebookId;
  readonly owner: Owner;
  /** Takes the notebook from an owner that lives, or of whom nobody knows. */
  readonly takeover: boolean;
  /** Where there is none yet; undefined to find it missing. */
  readonly create: (() => Book) | undefined;
}

const OPENING_TRIES = 10;

/** Keeps the head of a notebook: every change is one compare-and-set, one after the other. */
export class Journal {
  readonly vault: Vault;
  /** Files that were found damaged and put aside. */
  readonly damaged: readonly string[];
  /** Whether this opening has made the notebook. */
  readonly isNew: boolean;
  readonly #plan: JournalPlan;
  readonly #lane = new TaskQueue();
  #book: Book;
  #rev: number;
  #fence: CellarError | undefined;
  #onFenced: (() => void) | undefined;

  constructor(plan: JournalPlan, book: Book, rev: number, stored: StoredHead | undefined) {
    this.#plan = plan;
    this.#book = book;
    this.#rev = rev;
    this.damaged = stored?.damaged ?? [];
    this.isNew = stored === undefined;
    const blobs = plan.store.blobs(plan.id);
    this.vault = new Vault(blobs, () => new Set(blobsIn(this.#book).map(({ sha256 }) => sha256)));
  }

  /** Opens the notebook for this owner alone. */
  static async open(plan: JournalPlan): Promise<Journal> {
    const { heads } = plan.store;
    for (let tries = 1; ; tries++) {
      const stored = await heads.get(plan.id);
      const found = await nextBook(plan, stored);
      try {
        const rev = await heads.cas(plan.id, documentOf(found), stored?.rev ?? 0);
        const journal = new Journal(plan, found, rev, stored);
        // What an unreadable record refers to is not known, and stays.
        const isWhole = !found.pages.some(({ isDamaged }) => isDamaged);
        if (stored !== undefined && isWhole) journal.vault.sweep();
        return journal;
      } catch (error) {
        // Somebody else was quicker; the next look tells who.
        if (!isCellarError(error, "CONFLICT") || tries >= OPENING_TRIES) throw error;
      }
    }
  }

  /** A notebook that must not be there yet. */
  static async create(plan: Omit<JournalPlan, "create">, book: Book): Promise<Journal> {
    const { store, id } = plan;
    try {
      const rev = await store.heads.cas(id, documentOf(book), 0);
      return new Journal({ ...plan, create: undefined }, book, rev, undefined);
    } catch (error) {
      throw isCellarError(error, "CONFLICT") ? alreadyThere(id, error) : error;
    }
  }

  get book(): Book {
    return this.#book;
  }

  set onFenced(tell: () => void) {
    this.#onFenced = tell;
  }

  /** Fails once somebody else has taken the notebook over. */
  check(): void {
    if (this.#fence !== undefined) throw this.#fence;
  }

  /** Durable when answered; when it fails, `book` is what the disk has. */
  commit(change: (now: Book) => Book | Promise<Book>): Promise<void> {
    return this.#lane.run(async () => {
      this.check();
      try {
        await this.#write(await change(this.#book));
      } catch (error) {
        if (!isCellarError(error, "CONFLICT")) throw await this.#recall(error);
        // After a write whose end was never learned the conflict may be with oneself.
        await this.#reload(error);
        await this.#write(await change(this.#book));
      }
    });
  }

  /** Lets the next one open it. */
  async release(): Promise<void> {
    try {
      if (this.#fence === undefined) await this.commit((now) => ({ ...now, owner: null }));
    } catch (error) {
      // Who took it over has nothing to be let in to.
      if (this.#fence === undefined) throw error;
    } finally {
      await this.vault.settle();
    }
  }

  /** Takes back that it was made, if nobody has come to it meanwhile. */
  async unmake(): Promise<void> {
    const { store, id } = this.#plan;
    await this.commit((now) => ({ ...now }));
    await store.heads.delete(id);
  }

  async #write(wanted: Book): Promise<void> {
    const { store, id } = this.#plan;
    const before = this.#book;
    if (wanted === before) return;
    const pages = await balanced(wanted.pages, this.vault.blobs);
    const next = pages === wanted.pages ? wanted : { ...wanted, pages };
    this.#rev = await store.heads.cas(id, documentOf(next), this.#rev);
    this.#book = next;
    this.#discard(before);
  }

  /** Whether a failed write arrived is only known by looking. */
  async #recall(error: unknown): Promise<unknown> {
    await this.#reload(error).catch(() => {});
    return error;
  }

  async #reload(conflict: unknown): Promise<void> {
    const { store, id } = this.#plan;
    const before = this.#book;
    const stored = await store.heads.get(id);
    const book = stored && (await readBook(stored, this.#plan));
    const { incarnation } = this.#plan.owner;
    if (book?.owner?.incarnation !== incarnation || book.epoch !== before.epoch) {
      throw this.#close(book?.owner ?? undefined, conflict);
    }
    this.#book = book;
    this.#rev = (stored as StoredHead).rev;
    this.#discard(before);
  }

  #close(owner: Owner | undefined, cause: unknown): CellarError {
    const by = owner === undefined ? "somebody else" : describeOwner(owner);
    this.#fence ??= new CellarError("CONFLICT", `the notebook was taken over by ${by}`, {
      remedy: "What was acknowledged is saved. Open the notebook again to go on.",
      details: owner === undefined ? {} : { owner },
      cause,
    });
    this.#onFenced?.();
    return this.#fence;
  }

  #discard(before: Book): void {
    const kept = new Set(blobsIn(this.#book).map(({ sha256 }) => sha256));
    this.vault.discard(blobsIn(before).filter(({ sha256 }) => !kept.has(sha256)));
  }
}

export function alreadyThere(id: NotebookId, cause?: unknown): CellarError {
  return new CellarError("CONFLICT", `there is a notebook ${nameOf(id)} already`, {
    remedy: "Take another name.",
    cause,
  });
}

export function nameOf({ user, session }: NotebookId): string {
  return `${user}/${session}`;
}

/** All content that a notebook stands on. */
export function blobsIn({ pages, snapshots, aside }: Book): BlobRef[] {
  const records = [...snapshots, ...aside.map(({ snapshot }) => snapshot)];
  return [
    ...pages.flatMap(blobsOf),
    ...records.flatMap(({ blob, manifest }) => ("sha256" in manifest ? [blob, manifest] : [blob])),
  ];
}

export async function readBook(
  stored: StoredHead,
  { store, id }: Pick<JournalPlan, "store" | "id">,
): Promise<Book> {
  const { cells, ...head } = parseHead(stored.head, nameOf(id));
  const blobs = store.blobs(id);
  const pages = await Promise.all(cells.map((entry, at) => readPage(entry, at, blobs)));
  return { ...head, pages };
}

async function nextBook(plan: JournalPlan, stored: StoredHead | undefined): Promise<Book> {
  const { id, owner, takeover, create } = plan;
  if (stored === undefined) {
    if (create !== undefined) return { ...create(), owner };
    throw new CellarError("NOT_FOUND", `there is no notebook ${nameOf(id)}`, {
      remedy: "`cellar notebook list` and Notebook.list() tell which there are.",
    });
  }
  const book = await readBook(stored, plan);
  if (book.owner !== null && !takeover) refuseHeld(id, book.owner);
  return { ...book, owner, epoch: book.epoch + 1 };
}

function refuseHeld(id: NotebookId, owner: Owner): void {
  const liveness = livenessOf(owner);
  if (liveness === "dead") return;
  throw new CellarError("LOCKED", `the notebook ${nameOf(id)} is held by ${describeOwner(owner)}`, {
    remedy: "Close it there, or open it with takeover: true, which ends it there.",
    details: { owner, liveness },
  });
}

function documentOf({ pages, ...head }: Book): NotebookHead {
  return { ...head, cells: pages.map(({ entry }) => entry) };
}
