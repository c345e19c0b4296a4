import type { StatefulRuntime } from "../backends/stateful-sandbox.js";
import { CellList } from "./document/cells.js";
import type { Journal } from "./document/journal.js";
import type { NotebookWishes } from "./options.js";
import { PrivacyGuard } from "./privacy.js";
import { CellQueue } from "./run/cell-queue.js";
import { CellRunner } from "./run/cell-runner.js";
import type { SessionFiles } from "./run/session-files.js";
import { SessionKeeper } from "./run/session-keeper.js";
import { Snapshots } from "./run/snapshots.js";
import { StatusNotes } from "./status.js";
import type { Seal } from "./store/seal.js";

const MEBIBYTE = 1024 * 1024;

/** What an open notebook stands on. */
export interface Foundation {
  readonly wishes: NotebookWishes;
  readonly runtime: StatefulRuntime;
  readonly seal: Seal;
  readonly journal: Journal;
  readonly sessionFiles: SessionFiles;
}

/** What an open notebook consists of. */
export interface NotebookParts extends Foundation {
  readonly cellList: CellList;
  readonly keeper: SessionKeeper;
  readonly snapshots: Snapshots;
  readonly runner: CellRunner;
  readonly privacy: PrivacyGuard;
  readonly status: StatusNotes;
  readonly cellQueue: CellQueue;
}

export function assemble(foundation: Foundation): NotebookParts {
  const { wishes, seal, journal, sessionFiles } = foundation;
  const { id, settings } = wishes;
  const cellList = new CellList(() => journal.document.pages);
  const keeper = new SessionKeeper({ id, journal, seal, sessionFiles, cellList: cellList });
  const snapshots = new Snapshots({
    id,
    journal,
    seal,
    maxBytes: settings.stateMaxSizeMb * MEBIBYTE,
    keep: settings.keepSnapshots,
    session: () => keeper.session,
  });
  const runner = new CellRunner(keeper, sessionFiles);
  const privacy = new PrivacyGuard(journal, sessionFiles.proxy, settings.privateFiles);
  const status = new StatusNotes(id, journal, keeper, snapshots, cellList);
  const { maxCells, outputsMaxSizeMb } = settings;
  const cellQueue = new CellQueue({
    journal,
    keeper,
    runner,
    snapshots,
    cellList: cellList,
    status,
    privacy,
    workspace: sessionFiles.workspace,
    maxCells,
    outputsMaxSizeMb,
  });
  return {
    ...foundation,
    cellList: cellList,
    keeper,
    snapshots,
    runner,
    privacy,
    status,
    cellQueue: cellQueue,
  };
}
