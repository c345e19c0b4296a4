import { type FileHandle, link, lstat, open, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { hasCode } from "./disk-faults.js";
import { type FileIdentity, identityOf, namesIn, removeFile } from "./disk-folders.js";

const HEAD = /^head-(\d{12})\.json$/;
const DAMAGED = /^damaged-head-(\d{12})\.json-/;

const SWEEP_EVERY = 16;

export interface SeenRevision extends FileIdentity {
  readonly rev: number;
  readonly aside?: string | undefined;
}

export interface Listing {
  readonly names: readonly string[];
  /** The newest readable revision, or 0. */
  readonly newest: number;
  /** The highest number used, damaged revisions included. */
  readonly latest: number;
  /** Paths of damaged revisions since the last whole one before the newest. */
  readonly aside: readonly string[];
}

export function headName(rev: number): string {
  return `head-${String(rev).padStart(12, "0")}.json`;
}

export async function listRevisions(folder: string): Promise<Listing> {
  const names = await namesIn(folder);
  const newest = Math.max(0, ...names.map((name) => revisionOf(name, HEAD)));
  const latest = Math.max(newest, ...names.map((name) => revisionOf(name, DAMAGED)));
  const damaged = new Set(names.map((name) => revisionOf(name, DAMAGED)));
  let whole = newest - 1;
  while (whole > 0 && damaged.has(whole)) whole -= 1;
  const aside = names.filter((name) => revisionOf(name, DAMAGED) > Math.max(0, whole));
  return { names, newest, latest, aside: aside.map((name) => join(folder, name)) };
}

/**
 * Gives a revision to the world, durable when answered; undefined where another one has its name,
 * or where `before` is no longer there. A revision is committed by linking a finished file to its
 * name, which only one can do. Who is so slow that the name was taken and removed again finds the
 * one before gone too, as old ones are removed in their order. All this happens in the folder that
 * `before` was seen in: one who wakes up after the notebook was deleted and made anew is in the
 * deleted one.
 */
export async function publish(
  path: string,
  temp: string,
  content: Buffer,
  rev: number,
  before?: SeenRevision,
): Promise<SeenRevision | undefined> {
  const handles = await openBoth(open(join(path, temp), "wx", 0o600), open(path, "r"));
  if (handles === undefined) return undefined;
  const [file, parent] = handles;
  try {
    const seen = await commit(file, parent, { path, temp, rev, before }, content);
    if (seen === undefined) await removeFile(join(path, temp)).catch(() => {});
    return seen;
  } catch (error) {
    await removeFile(join(path, temp)).catch(() => {});
    if (hasCode(error, "EEXIST", "ENOENT")) return undefined;
    throw error;
  } finally {
    // Not awaited: nothing is lost if it fails.
    void Promise.allSettled([file.close(), parent.close()]);
  }
}

interface Commit {
  readonly path: string;
  readonly temp: string;
  readonly rev: number;
  readonly before: SeenRevision | undefined;
}

async function commit(
  file: FileHandle,
  parent: FileHandle,
  { path, temp, rev, before }: Commit,
  content: Buffer,
): Promise<SeenRevision | undefined> {
  const folder = process.platform === "linux" ? `/proc/self/fd/${parent.fd}` : path;
  const unfinished = join(folder, temp);
  const isFollowing = async () => before === undefined || (await isStill(folder, before));
  const [isThere] = await Promise.all([isFollowing(), file.writeFile(content)]);
  if (!isThere) return undefined;
  const finished = join(folder, headName(rev));
  const [identity] = await Promise.all([identityOf(file), link(unfinished, finished)]);
  // In parallel: a journaling file system writes them in one transaction.
  const [isNext, ...steps] = await Promise.allSettled([
    isFollowing(),
    file.datasync(),
    parent.sync(),
    removeFile(unfinished),
    rev % SWEEP_EVERY === 0 && sweep(folder, rev - SWEEP_EVERY).catch(() => {}),
  ]);
  const failed = [isNext, ...steps].find((step) => step.status === "rejected");
  if (failed === undefined && isNext.status === "fulfilled" && isNext.value) {
    return { rev, ...identity };
  }
  // It may not survive a power failure, so it must not be used.
  await removeFile(finished);
  if (failed !== undefined) throw failed.reason;
  return undefined;
}

export async function isStill(folder: string, seen: SeenRevision): Promise<boolean> {
  const { rev, ino, mtimeNs, aside = headName(rev) } = seen;
  try {
    const info = await lstat(join(folder, aside), { bigint: true });
    return info.ino === ino && info.mtimeNs === mtimeNs;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}

export async function seeAside(folder: string, { latest, aside }: Listing): Promise<SeenRevision> {
  const names = aside.map((path) => basename(path));
  const name = names.find((one) => revisionOf(one, DAMAGED) === latest) ?? headName(latest);
  const { ino, mtimeNs } = await lstat(join(folder, name), { bigint: true });
  return { rev: latest, ino, mtimeNs, aside: name };
}

/** In an order that makes pending writes of other processes fail. */
export async function removeAll(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (DAMAGED.test(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
  await sweep(folder, Number.POSITIVE_INFINITY);
}

/** Removes the revisions before `end`, oldest first. */
async function sweep(folder: string, end: number): Promise<void> {
  const old = (await namesIn(folder)).filter(
    (name) => HEAD.test(name) && revisionOf(name, HEAD) < end,
  );
  for (const name of old.sort()) await removeFile(join(folder, name));
}

function revisionOf(name: string, pattern: RegExp): number {
  return Number(pattern.exec(name)?.[1] ?? 0);
}

async function openBoth(
  first: Promise<FileHandle>,
  second: Promise<FileHandle>,
): Promise<[FileHandle, FileHandle] | undefined> {
  const [one, other] = await Promise.allSettled([first, second]);
  if (one.status === "fulfilled" && other.status === "fulfilled") return [one.value, other.value];
  for (const opened of [one, other]) if (opened.status === "fulfilled") await opened.value.close();
  const failed = one.status === "rejected" ? one : (other as PromiseRejectedResult);
  if (hasCode(failed.reason, "ENOENT")) return undefined;
  throw failed.reason;
}
