import { z } from "zod";
import { checkNames } from "../../config/kinds.js";
import { describeError, isCellarError } from "../../errors.js";
import { type PlaceOptions, placeOf, withoutSettings } from "../options.js";
import { sessionDirsOf } from "../run/owner-mark.js";
import { removeSessionDir, sessionDirsIn } from "../run/session-files.js";
import { checkId } from "../store/names.js";
import { currentOwner, livenessOfOwner, type Owner } from "../store/owner.js";
import type { NotebookId, NotebookStore } from "../store/store.js";
import { parseJson } from "./cell-records.js";
import { type NotebookHead, parseHead } from "./head.js";
import { Journal, nameOf } from "./journal.js";

/** A saved notebook. */
export interface NotebookSummary extends NotebookId {
  readonly cells: number;
  readonly createdAt: string | null;
  /** When a cell last ran or the variables were last saved. */
  readonly lastUsedAt: string | null;
  /** Saved size of cells and variables, without files. */
  readonly bytes: number;
  readonly isPrivate: boolean;
  /** Who has it open now. */
  readonly owner: Owner | null;
  /** Why it cannot be read. */
  readonly problem?: string;
}

export async function listNotebooks(
  place: PlaceOptions & { readonly user?: string | undefined },
): Promise<readonly NotebookSummary[]> {
  const { store } = placeOf(place);
  checkNames("Notebook.list", withoutSettings(place), { dir: true, store: true, user: true });
  const found: NotebookSummary[] = [];
  for await (const id of store.heads.list(place.user)) {
    const described = await describe(id, store);
    if (described !== undefined) found.push(described);
  }
  return found.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

/** A result of `Notebook.list` may be passed as it is. */
const TOLD: Record<Exclude<keyof NotebookSummary, keyof NotebookId>, true> = {
  cells: true,
  createdAt: true,
  lastUsedAt: true,
  bytes: true,
  isPrivate: true,
  owner: true,
  problem: true,
};

/** Fails with `LOCKED` while it is open elsewhere, and with `CONFLICT` if it is taken over meanwhile. */
export async function removeNotebook(options: PlaceOptions & NotebookId): Promise<void> {
  const { dir, store } = placeOf(options);
  const known = { dir: true, store: true, user: true, session: true, ...TOLD } as const;
  checkNames("Notebook.remove", withoutSettings(options), known);
  const id = checkId(options);
  const root = sessionDirsIn(dir);
  for (const name of await deleted(store, id, root)) await removeSessionDir({ root, name });
}

/** Deletes it; returns the session folders that are free now. */
async function deleted(
  store: NotebookStore,
  id: NotebookId,
  root: string,
): Promise<readonly string[]> {
  const rev = await store.heads.revision(id);
  const plan = { store, id, owner: currentOwner(), takeover: false, create: undefined };
  try {
    const journal = await Journal.open(plan);
    const { sessionDir, formerDirs = [] } = journal.document;
    await journal.remove();
    return [sessionDir, ...formerDirs];
  } catch (error) {
    if (!isBeyondReading(error)) throw error;
    const dirs = await sessionDirsOf(root, id);
    await store.heads.delete(id, rev);
    return dirs;
  }
}

/** A notebook of a newer version is not damaged. */
function isBeyondReading(error: unknown): boolean {
  return isCellarError(error, "DAMAGED") && error.details.kept !== undefined;
}

/** Undefined where it was deleted meanwhile. */
async function describe(
  id: NotebookId,
  store: NotebookStore,
): Promise<NotebookSummary | undefined> {
  try {
    const stored = await store.heads.get(id);
    if (stored === undefined) return undefined;
    const head = parseHead(stored.head, nameOf(id));
    const isHeld = head.owner !== null && livenessOfOwner(head.owner) !== "dead";
    return {
      ...id,
      cells: head.cells.length,
      createdAt: head.createdAt,
      ...usageOf(head),
      isPrivate: head.private !== null,
      owner: isHeld ? head.owner : null,
    };
  } catch (error) {
    const problem = describeError(error);
    const unknown = { cells: 0, createdAt: null, lastUsedAt: null, bytes: 0, isPrivate: false };
    return { ...id, ...unknown, owner: null, problem };
  }
}

const briefRecordSchema = z.object({
  executedAt: z.string().nullable(),
  resources: z.array(z.object({ blob: z.object({ bytes: z.number() }) })),
});

/** Long records are in blobs and are not read for a list. */
function usageOf({ createdAt, cells, snapshots }: NotebookHead) {
  const records = cells.flatMap(({ record }) => {
    if (typeof record !== "string") return [];
    return briefRecordSchema.safeParse(parseJson(record)).data ?? [];
  });
  const moments = [
    createdAt,
    ...snapshots.map(({ at }) => at),
    ...records.flatMap(({ executedAt }) => executedAt ?? []),
  ];
  const sizes = [
    ...cells.map(({ record }) => (typeof record === "string" ? record.length : record.bytes)),
    ...records.flatMap(({ resources }) => resources.map(({ blob }) => blob.bytes)),
    ...snapshots.map(({ blob }) => blob.bytes),
  ];
  return {
    lastUsedAt: moments.sort().at(-1) ?? createdAt,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
  };
}
