import { makeSessionDir } from "../../backends/host/session-dir.js";
import { CellarError, isCellarError } from "../../errors.js";
import { newSessionDirName } from "../document/fork.js";
import { parseHead } from "../document/head.js";
import { type Journal, nameOf } from "../document/journal.js";
import type { NotebookWishes } from "../options.js";
import { describeOwner, type Owner } from "../store/owner.js";
import { Workspace } from "../workspace/workspace.js";
import { isDeserted } from "./session-dir-users.js";
import { razeRoom, roomsIn, SessionFiles, type SessionFilesOptions } from "./session-files.js";

/** A workspace may hold more than it should; what no code may add to is copied all the same. */
const LEEWAY = 4;

/**
 * Where the notebook lives. A former owner who may be alive, or whose processes are, has its room
 * mounted, and no renaming takes it away: its files are copied into a new room, and it keeps the
 * old one.
 */
export async function settleIn(
  order: Omit<SessionFilesOptions, "name">,
  journal: Journal,
): Promise<SessionFiles> {
  const { room, roomSharedWith } = journal.document;
  const { former } = journal;
  const place = { root: roomsIn(order.wishes.dir), name: room };
  const isFree = roomSharedWith === undefined && (former === null || (await isDeserted(place)));
  if (isFree) return await SessionFiles.open({ ...order, name: room });
  const name = newSessionDirName();
  const sessionFiles = await SessionFiles.openNew({ ...order, name });
  try {
    await copyFiles(order, room, roomSharedWith ?? former, sessionFiles);
    await journal.commit(({ roomSharedWith: _, ...now }) => ({
      ...now,
      room: name,
      leftRooms: [...(now.leftRooms ?? []), room],
    }));
    return sessionFiles;
  } catch (error) {
    await vacate(order.wishes, sessionFiles);
    throw error;
  }
}

/** Takes new quarters away that could not be moved into, unless the notebook has the room by now. */
export async function vacate(
  { store, id }: Pick<NotebookWishes, "store" | "id">,
  sessionFiles: SessionFiles,
): Promise<void> {
  try {
    await sessionFiles[Symbol.asyncDispose]();
    const stored = await store.heads.get(id);
    const head = stored && parseHead(stored.head, nameOf(id));
    const named = head === undefined ? [] : [head.room, ...(head.leftRooms ?? [])];
    if (!named.includes(sessionFiles.room.name)) await razeRoom(sessionFiles.room);
  } catch {
    // Where the head cannot be read it may name it.
  }
}

/** Removes what was left to former owners; what one of them still fills stays for the next time. */
export async function clearLeftDirs(dir: string, journal: Journal): Promise<void> {
  const { leftRooms = [] } = journal.document;
  if (leftRooms.length === 0 || journal.isFenced) return;
  const root = roomsIn(dir);
  const ends = await Promise.allSettled(leftRooms.map((name) => razeRoom({ root, name })));
  const still = leftRooms.filter((_, at) => ends[at]?.status === "rejected");
  await journal.commit(({ leftRooms: _, ...now }) =>
    still.length === 0 ? now : { ...now, leftRooms: still },
  );
}

/**
 * One that could not be opened and was only made for that is not left behind. Gives what to tell:
 * who took it over meanwhile is the reason, not what that has ended here.
 */
export async function leave(dir: string, journal: Journal, error: unknown): Promise<unknown> {
  await takeBack(dir, journal).catch(() => {});
  try {
    journal.check();
    return error;
  } catch (conflict) {
    return conflict;
  }
}

async function takeBack(dir: string, journal: Journal): Promise<void> {
  if (!journal.isNew) return journal.release();
  await journal.remove();
  await razeRoom({ root: roomsIn(dir), name: journal.document.room });
}

async function copyFiles(
  { wishes }: Omit<SessionFilesOptions, "name">,
  room: string,
  owner: Owner | null,
  { workspace }: SessionFiles,
): Promise<void> {
  const path = makeSessionDir({ root: roomsIn(wishes.dir), name: room });
  const shared = new Workspace(path, wishes.settings.limits);
  try {
    await shared.copyTo(workspace, { leeway: LEEWAY, isDurable: true });
  } catch (error) {
    if (!isCellarError(error, "TOO_LARGE")) throw error;
    throw new CellarError("TOO_LARGE", error.message, {
      remedy: `End ${owner === null ? "who had it" : describeOwner(owner)}: then nothing need be copied. Or open it with a larger limits.workspaceMb.`,
      cause: error,
    });
  }
}
