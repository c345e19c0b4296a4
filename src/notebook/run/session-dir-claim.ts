import { makeSessionDir } from "../../backends/host/session-dir.js";
import { CellarError, isCellarError } from "../../errors.js";
import { newSessionDirName } from "../document/fork.js";
import { parseHead } from "../document/head.js";
import { type Journal, nameOf } from "../document/journal.js";
import type { ResolvedNotebookOptions } from "../options.js";
import { describeOwner, type Owner } from "../store/owner.js";
import { Workspace } from "../workspace/workspace.js";
import { isUnused } from "./session-dir-users.js";
import {
  removeSessionDir,
  SessionFiles,
  type SessionFilesOptions,
  sessionDirsIn,
} from "./session-files.js";

/** A workspace over its limit is copied all the same. */
const LEEWAY = 4;

/**
 * The files of the notebook. A former owner that may still run, or whose processes do, has its session
 * folder mounted, which renaming does not end: the files are copied into a new folder, and the former
 * owner keeps the old one.
 */
export async function claimSessionDir(
  plan: Omit<SessionFilesOptions, "name">,
  journal: Journal,
): Promise<SessionFiles> {
  const { sessionDir, sessionDirSharedWith } = journal.document;
  const { former } = journal;
  const place = { root: sessionDirsIn(plan.resolved.dir), name: sessionDir };
  const isFree = sessionDirSharedWith === undefined && (former === null || (await isUnused(place)));
  if (isFree) return await SessionFiles.open({ ...plan, name: sessionDir });
  const name = newSessionDirName();
  const sessionFiles = await SessionFiles.openNew({ ...plan, name });
  try {
    await copyFiles(plan, sessionDir, sessionDirSharedWith ?? former, sessionFiles);
    await journal.commit(({ sessionDirSharedWith: _, ...now }) => ({
      ...now,
      sessionDir: name,
      formerDirs: [...(now.formerDirs ?? []), sessionDir],
    }));
    return sessionFiles;
  } catch (error) {
    await discardSessionDir(plan.resolved, sessionFiles);
    throw error;
  }
}

/** Removes a new session folder that could not be used, unless the notebook names it by now. */
export async function discardSessionDir(
  { store, id }: Pick<ResolvedNotebookOptions, "store" | "id">,
  sessionFiles: SessionFiles,
): Promise<void> {
  try {
    await sessionFiles[Symbol.asyncDispose]();
    const stored = await store.heads.get(id);
    const head = stored && parseHead(stored.head, nameOf(id));
    const named = head === undefined ? [] : [head.sessionDir, ...(head.formerDirs ?? [])];
    if (!named.includes(sessionFiles.sessionDir.name))
      await removeSessionDir(sessionFiles.sessionDir);
  } catch {
    // Where the head cannot be read it may name it.
  }
}

/** Removes the folders of former owners; one that is still written to stays for the next time. */
export async function removeFormerDirs(dir: string, journal: Journal): Promise<void> {
  const { formerDirs = [] } = journal.document;
  if (formerDirs.length === 0 || journal.isFenced) return;
  const root = sessionDirsIn(dir);
  const ends = await Promise.allSettled(formerDirs.map((name) => removeSessionDir({ root, name })));
  const still = formerDirs.filter((_, at) => ends[at]?.status === "rejected");
  await journal.commit(({ formerDirs: _, ...now }) =>
    still.length === 0 ? now : { ...now, formerDirs: still },
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
  await removeSessionDir({ root: sessionDirsIn(dir), name: journal.document.sessionDir });
}

async function copyFiles(
  { resolved }: Omit<SessionFilesOptions, "name">,
  sessionDir: string,
  owner: Owner | null,
  { workspace }: SessionFiles,
): Promise<void> {
  const path = makeSessionDir({ root: sessionDirsIn(resolved.dir), name: sessionDir });
  const shared = new Workspace(path, resolved.settings.limits);
  try {
    await shared.copyTo(workspace, { leeway: LEEWAY, isDurable: true });
  } catch (error) {
    if (!isCellarError(error, "TOO_LARGE")) throw error;
    throw new CellarError("TOO_LARGE", error.message, {
      remedy: `End ${owner === null ? "the former owner" : describeOwner(owner)}, so that nothing has to be copied, or open it with a larger limits.workspaceMb.`,
      cause: error,
    });
  }
}
