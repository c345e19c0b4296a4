import { describeError, isCellarError } from "../../errors.js";
import { razeRoom, roomsIn } from "../live/quarters.js";
import { roomsOf } from "../live/room-sign.js";
import { type PlaceOptions, placeOf } from "../options.js";
import { checkId } from "../store/names.js";
import { currentOwner, heldHere, livenessOfOwner, type Owner } from "../store/owner.js";
import type { NotebookId, NotebookStore } from "../store/store.js";
import { Journal } from "./journal.js";
import { parseHead } from "./notebook-head.js";

/** A notebook as it lies there. */
export interface Catalogued extends NotebookId {
  readonly cells: number;
  readonly createdAt: string | null;
  readonly isPrivate: boolean;
  /** Who has it open now. */
  readonly owner: Owner | null;
  /** Why it cannot be read. */
  readonly problem?: string;
}

export async function listNotebooks(
  place: PlaceOptions & { readonly user?: string | undefined },
): Promise<readonly Catalogued[]> {
  const { store } = placeOf(place);
  const found: Catalogued[] = [];
  for await (const id of store.heads.list(place.user)) found.push(await describe(id, store));
  return found.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

/** Fails with `LOCKED` while somebody has it open. */
export async function removeNotebook(options: PlaceOptions & NotebookId): Promise<void> {
  const { dir, store } = placeOf(options);
  const id = checkId(options);
  const owner = currentOwner();
  const plan = { store, id, owner, takeover: false, create: undefined };
  const root = roomsIn(dir);
  const rooms = await Journal.open(plan).then(
    ({ book }) => [book.room, ...(book.leftRooms ?? [])],
    (error: unknown) => {
      if (isBeyondReading(error)) return roomsOf(root, id);
      throw error;
    },
  );
  try {
    await store.heads.delete(id);
  } finally {
    heldHere().delete(owner.incarnation);
  }
  for (const name of rooms) await razeRoom({ root, name });
}

/** Not one of a newer version: that is whole, only not for us. */
function isBeyondReading(error: unknown): boolean {
  return isCellarError(error, "DAMAGED") && error.details.kept !== undefined;
}

async function describe(id: NotebookId, store: NotebookStore): Promise<Catalogued> {
  try {
    const stored = await store.heads.get(id);
    const head = parseHead(stored?.head, keyOf(id));
    const isHeld = head.owner !== null && livenessOfOwner(head.owner) !== "dead";
    return {
      ...id,
      cells: head.cells.length,
      createdAt: head.createdAt,
      isPrivate: head.private !== null,
      owner: isHeld ? head.owner : null,
    };
  } catch (error) {
    const problem = describeError(error);
    return { ...id, cells: 0, createdAt: null, isPrivate: false, owner: null, problem };
  }
}

function keyOf({ user, session }: NotebookId): string {
  return `${user}/${session}`;
}
