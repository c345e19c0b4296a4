import { keepingAlive } from "../../concurrency/keep-alive.js";
import type { Params, Result } from "../../protocol/messages.js";
import type { FileMethod, FileOrder } from "../files/sandbox-files.js";
import type { WorkspaceLimit } from "../files/workspace-file.js";
import type { Branch } from "./branch.js";
import { hasCheckpoints } from "./checks.js";
import type { SessionLease } from "./lease.js";

/** A piece is moved at once; a loaded machine may take longer. */
const PIECE_MS = 60_000;

export interface FileKeeper {
  readonly limit: WorkspaceLimit;
  place(): { readonly lease: SessionLease; readonly branch: Branch };
  /** In turn with cells, in a session that lives. */
  task<T>(work: () => Promise<T>): Promise<T>;
}

/** Init answers at any time. Where there is none, the process that runs cells does between them. */
export async function askFiles<M extends FileMethod>(
  keeper: FileKeeper,
  method: M,
  order: FileOrder<M>,
  attachments: readonly Uint8Array[] = [],
): Promise<Result<M>> {
  const { bytes: max_bytes, files: max_files } = keeper.limit;
  const limits = method === "open_file" ? { max_bytes, max_files } : {};
  const params = { ...order, ...limits } as Params<M>;
  const { info, session } = keeper.place().lease;
  if (!hasCheckpoints(info)) {
    const ask = () => keeper.place().branch.question(method, params, PIECE_MS, attachments);
    return await keeper.task(ask);
  }
  if (!session.isAlive) await keeper.task(async () => {});
  return await keepingAlive(keeper.place().lease.session.askInit(method, params, attachments));
}
