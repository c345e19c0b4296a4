import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { CellarError, isCellarError } from "../../errors.js";
import { diskFault, hasCode } from "./disk-faults.js";
import {
  foldersIn,
  identityOf,
  makeFolder,
  putAside,
  syncFolder,
  TempNames,
} from "./disk-folders.js";
import { openHead, sealHead } from "./envelope.js";
import { checkId, checkName, folderName, nameOfFolder } from "./names.js";
import { currentOwner, heldHere, livenessOfOwner, type Owner } from "./owner.js";
import {
  headName,
  isStill,
  listRevisions,
  publish,
  removeAll,
  type SeenRevision,
  seeAside,
} from "./revisions.js";
import type { HeadRevision, HeadStore, NotebookId } from "./store.js";
import { deleterIn, stillDeleting, TOMBSTONE_BYTES, tombstone } from "./tombstone.js";

const FOREIGN = "cells.json";

const MAX_BYTES = 64 * 1024 * 1024;
/** Notebooks whose newest revision is remembered. */
const REMEMBERED = 4096;
const MAX_LOOKS = 100;

/** How long to wait for another process to delete a notebook of the same name. */
const DELETION_TRIES = 20;
const DELETION_MS = 25;

const DELETED = ".deleted-";

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Heads as files, one for each revision: `<user>/<session>/head-<revision>.json`. */
export class DiskHeads implements HeadStore {
  readonly #root: string;
  readonly #temps = new TempNames();
  readonly #seen = new Map<string, SeenRevision>();

  constructor(root: string) {
    this.#root = root;
  }

  folderOf(id: NotebookId): string {
    const { user, session } = checkId(id);
    return join(this.#root, folderName(user), folderName(session));
  }

  async get(id: NotebookId): Promise<HeadRevision | undefined> {
    const folder = this.folderOf(id);
    try {
      return await this.#read(id, folder);
    } catch (error) {
      throw diskFault(`reading the notebook in ${folder}`, error);
    }
  }

  async revision(id: NotebookId): Promise<number> {
    const folder = this.folderOf(id);
    try {
      return await this.#currentRevision(id, folder);
    } catch (error) {
      throw diskFault(`reading the notebook in ${folder}`, error);
    }
  }

  async cas(id: NotebookId, head: unknown, expected: number): Promise<number> {
    const folder = this.folderOf(id);
    const rev = expected + 1;
    const content = sealHead(id, rev, head);
    if (content.length > MAX_BYTES) throw tooLarge(content.length);
    const known = this.#seen.get(folder);
    try {
      const before = known?.rev === expected ? known : await this.#expect(id, folder, expected);
      // After a failure below, nobody knows whether it was written.
      this.#seen.delete(folder);
      const seen = await publish(folder, this.#temps.next(), content, rev, before);
      if (seen === undefined) throw conflict(folder, expected);
      this.#remember(folder, seen);
      return rev;
    } catch (error) {
      throw diskFault(`saving the notebook in ${folder}`, error);
    }
  }

  async *list(user?: string): AsyncIterable<NotebookId> {
    const one = user === undefined ? undefined : folderName(checkName("user", user));
    for (const userFolder of one === undefined ? await foldersIn(this.#root) : [one]) {
      const owner = nameOfFolder("user", userFolder);
      if (owner === undefined) continue;
      for (const sessionFolder of await foldersIn(join(this.#root, userFolder))) {
        const session = nameOfFolder("session", sessionFolder);
        if (session === undefined) continue;
        const id = { user: owner, session };
        if ((await this.revision(id)) > 0) yield id;
      }
    }
  }

  async delete(id: NotebookId, expected: number): Promise<void> {
    const folder = this.folderOf(id);
    try {
      if (expected === 0) {
        await this.get(id);
        if ((await this.revision(id)) !== 0) throw conflict(folder, 0);
      } else {
        const known = this.#seen.get(folder);
        const before = known?.rev === expected ? known : await this.#last(id, folder, expected);
        if (!(await this.#deleteFolder(id, folder, before))) throw conflict(folder, expected);
      }
      await sweepDeleted(dirname(folder));
    } catch (error) {
      throw diskFault(`deleting ${folder}`, error);
    }
  }

  /**
   * Commits a tombstone, and then takes all of the notebook away in one step. Between the two
   * nobody else may move the folder, however long that takes. False where others were quicker.
   */
  async #deleteFolder(id: NotebookId, folder: string, before: SeenRevision): Promise<boolean> {
    const owner = currentOwner();
    const rev = before.rev + 1;
    heldHere().add(owner.incarnation);
    this.#seen.delete(folder);
    try {
      const content = sealHead(id, rev, tombstone(owner));
      const seen = await publish(folder, this.#temps.next(), content, rev, before);
      if (seen === undefined || !(await isStill(folder, seen))) return false;
      if ((await listRevisions(folder)).latest !== rev) return false;
      const parent = dirname(folder);
      await rename(folder, join(parent, `${DELETED}${randomBytes(8).toString("hex")}`));
      await syncFolder(parent);
      return true;
    } finally {
      heldHere().delete(owner.incarnation);
    }
  }

  /** Finishes the deletion of a dead process; returns the owner of one still under way. */
  async #finishDeletion(id: NotebookId, folder: string, rev: number): Promise<Owner | undefined> {
    const opened = await this.#open(id, folder, rev);
    const deleter = typeof opened === "object" ? deleterIn(opened.head) : undefined;
    if (typeof opened !== "object" || deleter === undefined) return undefined;
    if (livenessOfOwner(deleter) !== "dead") return deleter;
    // The next deletion removes what is left.
    if (await this.#deleteFolder(id, folder, opened.seen))
      await sweepDeleted(dirname(folder)).catch(() => {});
    return undefined;
  }

  /** The newest revision; 0 where it is a tombstone. */
  async #currentRevision(id: NotebookId, folder: string): Promise<number> {
    const { newest, latest } = await listRevisions(folder);
    return newest > 0 && (await this.#isTombstone(id, folder, newest)) ? 0 : latest;
  }

  async #isTombstone(id: NotebookId, folder: string, rev: number): Promise<boolean> {
    try {
      const { size } = await lstat(join(folder, headName(rev)));
      if (size > TOMBSTONE_BYTES) return false;
      const opened = await this.#open(id, folder, rev);
      return typeof opened === "object" && deleterIn(opened.head) !== undefined;
    } catch (error) {
      // A head of a newer version cannot be a tombstone.
      if (hasCode(error, "ENOENT") || isCellarError(error)) return false;
      throw error;
    }
  }

  async #read(id: NotebookId, folder: string): Promise<HeadRevision | undefined> {
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const { names, newest, latest, aside } = await listRevisions(folder);
      await this.#temps.sweep(folder, names);
      if (latest === 0) return refuseForeign(folder, names);
      if (newest === 0) throw nothingWhole(aside);
      const opened = await this.#open(id, folder, newest);
      switch (opened) {
        case "gone":
          break;
        case "damaged":
          await keepAside(folder, newest);
          break;
        default: {
          const { head, seen } = opened;
          if (deleterIn(head) !== undefined) {
            // Removed at the latest when the name is used again.
            await this.#finishDeletion(id, folder, newest).catch(() => {});
            return undefined;
          }
          if (newest === latest) {
            this.#remember(folder, seen);
            return { rev: newest, head, ...(aside.length > 0 && { damaged: aside }) };
          }
          const content = sealHead(id, latest + 1, head);
          await publish(folder, this.#temps.next(), content, latest + 1, seen);
        }
      }
    }
    throw new CellarError("CONFLICT", `the notebook in ${folder} changes while it is read`, {
      remedy: "try again, or end the process that writes to it",
    });
  }

  async #open(
    id: NotebookId,
    folder: string,
    rev: number,
  ): Promise<{ head: unknown; seen: SeenRevision } | "damaged" | "gone"> {
    const path = join(folder, headName(rev));
    try {
      await using file = await open(path, READ);
      const info = await file.stat();
      if (!info.isFile() || info.size > MAX_BYTES) return "damaged";
      const seen = { rev, ...(await identityOf(file)) };
      const opened = openHead(id, rev, await file.readFile());
      switch (opened.kind) {
        case "whole":
          return { head: opened.head, seen };
        case "damaged":
          return "damaged";
        case "newer":
          throw newer(path, opened.format);
      }
    } catch (error) {
      if (hasCode(error, "ENOENT")) return "gone";
      if (hasCode(error, "ELOOP", "ENXIO")) return "damaged";
      throw error;
    }
  }

  /** The revision to delete after; it may be one that was put aside as damaged. */
  async #last(id: NotebookId, folder: string, expected: number): Promise<SeenRevision> {
    const listing = await listRevisions(folder);
    const isAside = listing.latest === expected && listing.newest < expected;
    return isAside ? seeAside(folder, listing) : this.#expect(id, folder, expected);
  }

  /** The revision to write after, which must be the newest. */
  async #expect(id: NotebookId, folder: string, expected: number): Promise<SeenRevision> {
    if (expected === 0) await this.#begin(id, folder);
    else if (await this.#isTombstone(id, folder, expected)) throw conflict(folder, expected);
    try {
      await using file = await open(join(folder, headName(expected)), READ);
      const seen = { rev: expected, ...(await identityOf(file)) };
      const { names, latest } = await listRevisions(folder);
      if (latest !== expected) throw conflict(folder, expected);
      await this.#temps.sweep(folder, names);
      return seen;
    } catch (error) {
      throw hasCode(error, "ENOENT", "ELOOP") ? conflict(folder, expected) : error;
    }
  }

  /** Creates revision 0, an empty file for the first one to follow. */
  async #begin(id: NotebookId, folder: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const { names, newest, latest } = await listRevisions(folder);
      if (latest === 0) {
        refuseForeign(folder, names);
        break;
      }
      if (!(await this.#isTombstone(id, folder, newest))) throw conflict(folder, 0);
      const deleter = await this.#finishDeletion(id, folder, newest);
      if (tries >= DELETION_TRIES)
        throw deleter === undefined ? conflict(folder, 0) : stillDeleting(folder, deleter);
      if (deleter !== undefined) await setTimeout(DELETION_MS);
    }
    await makeFolder(folder, this.#root);
    const file = await open(join(folder, headName(0)), "a", 0o600).catch((error: unknown) => {
      // Another process created and deleted it meanwhile.
      throw hasCode(error, "ENOENT") ? conflict(folder, 0) : error;
    });
    await file.close();
  }

  #remember(folder: string, seen: SeenRevision): void {
    this.#seen.delete(folder);
    this.#seen.set(folder, seen);
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined && this.#seen.size > REMEMBERED) this.#seen.delete(oldest);
  }
}

async function sweepDeleted(parent: string): Promise<void> {
  for (const name of await foldersIn(parent)) {
    if (name.startsWith(DELETED)) await clear(join(parent, name));
  }
}

/** Retries, since another process may still write there. */
async function clear(path: string): Promise<void> {
  try {
    await removeAll(path);
    await rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
  } catch (error) {
    throw diskFault(`removing ${path}`, error);
  }
}

/** Only the newest revision: an older one was replaced meanwhile. */
async function keepAside(folder: string, rev: number): Promise<void> {
  const { newest } = await listRevisions(folder);
  if (newest !== rev) return;
  const name = headName(rev);
  await putAside(join(folder, name), folder, name);
}

function refuseForeign(folder: string, names: readonly string[]): undefined {
  if (!names.includes(FOREIGN)) return undefined;
  throw new CellarError(
    "UNSUPPORTED",
    `${join(folder, FOREIGN)} is a notebook of another program`,
    {
      remedy:
        "import its cells into another session, or move the folder away; " +
        "nothing in it was changed",
    },
  );
}

function nothingWhole(kept: readonly string[]): CellarError {
  return new CellarError("DAMAGED", "no revision of the notebook is whole", {
    remedy:
      `what is left was kept as ${kept.join(", ")}; ` +
      "restore a copy from a backup, or delete the notebook and start over",
    details: { kept },
  });
}

function newer(path: string, format: number): CellarError {
  return new CellarError("DAMAGED", `${path} was written by a newer Cellar (format ${format})`, {
    remedy: "use that version, or a later one; nothing was changed",
    details: { format },
  });
}

function conflict(folder: string, expected: number): CellarError {
  return new CellarError(
    "CONFLICT",
    `the notebook in ${folder} is no longer at revision ${expected}`,
    { remedy: "another process has written to it; open it again to continue" },
  );
}

function tooLarge(bytes: number): CellarError {
  return new CellarError("TOO_LARGE", `the document of the notebook would have ${bytes} bytes`, {
    remedy: "delete some of its cells",
    details: { bytes, limit: MAX_BYTES },
  });
}
