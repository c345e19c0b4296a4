import { readFileSync } from "node:fs";
import { type Identity, SANDBOX_IDENTITY } from "./run-folder.js";

/** Whom root becomes, as far as its user namespace has ids for it; undefined where it has none. */
export function sandboxIdentity(
  uidMap = mapOf("/proc/self/uid_map"),
  gidMap = mapOf("/proc/self/gid_map"),
): Identity | undefined {
  const uid = mappedId(uidMap, SANDBOX_IDENTITY.uid);
  const gid = mappedId(gidMap, SANDBOX_IDENTITY.gid);
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

/** How many ids a wall is given, so that each session can have one; python/cellar_runner/linux/jail.py. */
const IDS = 65_536;

/** How many ids follow the identity's that sessions may have; 1 where it is the only one. */
export function identityCount(
  identity: Identity,
  uidMap = mapOf("/proc/self/uid_map"),
  gidMap = mapOf("/proc/self/gid_map"),
): number {
  const holds = (map: string, first: number) =>
    rangesOf(map).some((range) => range.first <= first && first + IDS - 1 <= range.last);
  return holds(uidMap, identity.uid) && holds(gidMap, identity.gid) ? IDS : 1;
}

/** The wanted id, else the highest one there is: the lower ones belong to people and services. */
function mappedId(map: string, wanted: number): number | undefined {
  const ranges = rangesOf(map);
  if (ranges.some(({ first, last }) => first <= wanted && wanted <= last)) return wanted;
  const highest = Math.max(0, ...ranges.map(({ last }) => last));
  return highest > 0 ? highest : undefined;
}

function rangesOf(map: string): { first: number; last: number }[] {
  return map
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([first = 0, , count = 0]) => ({ first, last: first + count - 1 }));
}

function mapOf(path: string): string {
  return readFileSync(path, "utf8");
}
