import { createWriteStream } from "node:fs";
import { link, rm } from "node:fs/promises";
import { join } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { STATE_FILE, sessionDirPath } from "../../backends/host/session-dir.js";
import type { StatefulSandbox } from "../../backends/stateful-sandbox.js";
import { describeError, isCellarError } from "../../errors.js";
import type { RestoreReport } from "../../protocol/messages.js";
import type { SnapshotRecord } from "../document/head.js";
import { type Execution, heldAt } from "../document/timeline.js";
import { diskFault, hasCode } from "../store/disk-faults.js";
import type { Seal } from "../store/seal.js";
import type { BlobRef, BlobStore, NotebookId } from "../store/store.js";
import { LiveSession } from "./live-session.js";
import type { SessionFiles } from "./session-files.js";

/** The snapshot itself is bad; trying again is useless. */
const FINAL_CODES = ["STATE_REFUSED", "DAMAGED", "NOT_FOUND"] as const;

/** A restore that took longer is not tried again. */
const PATIENCE_MS = 10_000;

export interface RestorePlan {
  readonly id: NotebookId;
  readonly sessionFiles: Pick<SessionFiles, "sessionDir" | "createSandbox">;
  readonly blobs: BlobStore;
  readonly seal: Seal;
}

export interface Refused {
  readonly snapshot: SnapshotRecord;
  readonly reason: string;
}

export interface Restored {
  readonly session: LiveSession;
  readonly snapshot: SnapshotRecord | null;
  readonly report: RestoreReport | null;
  readonly refused: readonly Refused[];
}

/** A session with the variables of the first snapshot that can be trusted and read, else an empty one. */
export async function restoreFirst(
  plan: RestorePlan,
  snapshots: readonly SnapshotRecord[],
  executions: readonly Execution[],
): Promise<Restored> {
  const refused: Refused[] = [];
  for (const snapshot of snapshots) {
    const opened = await restoreTwice(plan, snapshot);
    if ("reason" in opened) {
      refused.push({ snapshot, reason: opened.reason });
      continue;
    }
    const { sandbox, report } = opened;
    const session = new LiveSession(sandbox, heldAt(executions, snapshot.sequence));
    return { session, snapshot, report, refused };
  }
  const sandbox = await plan.sessionFiles.createSandbox();
  return { session: new LiveSession(sandbox), snapshot: null, report: null, refused };
}

type Attempt =
  | { readonly sandbox: StatefulSandbox; readonly report: RestoreReport }
  | { readonly reason: string; readonly isFinal: boolean };

/** A session may die by chance during a restore; dying twice is blamed on the state. */
async function restoreTwice(plan: RestorePlan, snapshot: SnapshotRecord): Promise<Attempt> {
  const began = performance.now();
  const first = await restoreFrom(plan, snapshot);
  const isOver = !("reason" in first) || first.isFinal || performance.now() - began > PATIENCE_MS;
  return isOver ? first : restoreFrom(plan, snapshot);
}

async function restoreFrom(plan: RestorePlan, snapshot: SnapshotRecord): Promise<Attempt> {
  const { sequence, blob, seal } = snapshot;
  if (!plan.seal.verify({ ...plan.id, seq: sequence, sha256: blob.sha256 }, seal)) {
    return {
      reason: "its seal is not that of this notebook and this point of it",
      isFinal: true,
    };
  }
  const file = join(sessionDirPath(plan.sessionFiles.sessionDir), STATE_FILE);
  const [started, placed] = await Promise.allSettled([
    plan.sessionFiles.createSandbox(),
    placeState(plan, blob, file),
  ]);
  const sandbox = started.status === "fulfilled" ? started.value : undefined;
  try {
    if (started.status === "rejected") throw started.reason;
    if (placed.status === "rejected") throw placed.reason;
    const report = await started.value.restore(file);
    await removeState(file);
    return { sandbox: started.value, report };
  } catch (error) {
    await sandbox?.destroy();
    await removeState(file);
    // A session that does not start or a failing disk is not the snapshot's fault.
    if (sandbox === undefined || isCellarError(error, "IO_ERROR")) throw error;
    const isFinal = FINAL_CODES.some((code) => isCellarError(error, code));
    return { reason: describeError(error), isFinal };
  }
}

async function removeState(file: string): Promise<void> {
  try {
    await rm(file, { force: true });
  } catch (error) {
    throw diskFault(`removing ${file}`, error);
  }
}

/** Puts the snapshot into the session folder and verifies its content. */
async function placeState({ blobs }: RestorePlan, blob: BlobRef, file: string): Promise<void> {
  await removeState(file);
  const source = blobs.locate?.(blob);
  if (source !== undefined && (await isLinked(source, file))) {
    const reading = blobs.get(blob);
    reading.resume();
    await finished(reading);
    return;
  }
  try {
    await pipeline(blobs.get(blob), createWriteStream(file, { mode: 0o644, flags: "wx" }));
  } catch (error) {
    throw diskFault(`writing ${file}`, error);
  }
}

async function isLinked(source: string, file: string): Promise<boolean> {
  try {
    await link(source, file);
    return true;
  } catch (error) {
    if (hasCode(error, "EXDEV", "EPERM", "EMLINK", "ENOENT")) return false;
    throw diskFault(`linking ${source}`, error);
  }
}
