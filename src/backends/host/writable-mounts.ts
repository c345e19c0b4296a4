import { statSync } from "node:fs";
import { CellarError } from "../../errors.js";
import type { Mount } from "../../isolation/bwrap.js";
import type { Session } from "../session/session.js";
import { sandboxIdentity } from "./identity.js";

/** Tried inside, where the host's permissions have their say whatever they are made of. */
export async function refuseUnwritable(session: Session, mounts: readonly Mount[]): Promise<void> {
  const wanted = mounts.filter(({ readonly }) => !readonly);
  if (wanted.length === 0) return;
  const paths = wanted.map(({ guest }) => guest);
  try {
    const { refused } = await session.askInit("check_writable", { paths });
    const mount = refused.map((place) => wanted[place]).find((found) => found !== undefined);
    if (mount !== undefined) throw unwritable(mount);
  } catch (error) {
    session.close();
    throw error;
  }
}

function unwritable({ host, guest }: Mount): CellarError {
  const isRoot = process.getuid?.() === 0;
  const uid = isRoot ? sandboxIdentity()?.uid : process.getuid?.();
  const { uid: owner, mode } = statSync(host);
  const permissions = (mode & 0o7777).toString(8).padStart(4, "0");
  return new CellarError(
    "INVALID_CONFIG",
    `${host} is mounted writable at ${guest}, but the sandbox cannot write to it: ` +
      `it runs as user ${uid}, and the folder belongs to user ${owner} (mode ${permissions})`,
    {
      remedy: isRoot
        ? `chown ${uid} ${host}, or chmod o+rwx ${host}; or start Cellar as the folder's owner; ` +
          "or mount it read-only and take results out with getFile or --out."
        : "Mount a folder that you may write, or mount it read-only.",
      details: { option: "mounts", host, guest, uid, owner, mode: permissions },
    },
  );
}
