import type { FileContent } from "../backends/files/file-content.js";
import { normalPath } from "../backends/files/file-path.js";
import type { FileListing, ReadOptions } from "../backends/files/workspace-file.js";
import { checkLimit } from "../backends/session/checks.js";
import { sharedRuntime } from "../backends/shared.js";
import type { StatefulRuntime } from "../backends/stateful-sandbox.js";
import { TaskQueue } from "../concurrency/task-queue.js";
import { enforcesPrivacy } from "../egress/privacy-enforcement.js";
import type { NetworkReport } from "../egress/proxy.js";
import { CellarError } from "../errors.js";
import { type Cell, cellName } from "./cell.js";
import type { CellKey } from "./document/cell-finding.js";
import { CellList } from "./document/cells.js";
import { cleared, undone, withoutCell } from "./document/changes.js";
import { makeFork, newDocument, newSessionDirName } from "./document/fork.js";
import { Journal } from "./document/journal.js";
import { removeNotebook } from "./document/list.js";
import { type ResourceContent, readResource } from "./document/resource-content.js";
import { stepsBack } from "./document/timeline.js";
import { htmlOf } from "./interchange/html-export.js";
import { ipynbOf } from "./interchange/ipynb.js";
import { importNotebook } from "./interchange/notebook-import.js";
import { Notebook } from "./notebook.js";
import {
  forkId,
  type NotebookOptions,
  type ResolvedNotebookOptions,
  readOptions,
} from "./options.js";
import { flagPrivate, PrivacyGuard } from "./privacy-guard.js";
import { type CellRun, type CellRunOptions, checkRun } from "./run/cell-result.js";
import { CellRunner } from "./run/cell-runner.js";
import { CellNotes } from "./run/notes.js";
import {
  claimSessionDir,
  discardSessionDir,
  leave,
  removeFormerDirs,
} from "./run/session-dir-claim.js";
import { SessionFiles } from "./run/session-files.js";
import { SessionKeeper } from "./run/session-keeper.js";
import { Snapshots } from "./run/snapshots.js";
import { WorkspaceGuard } from "./run/workspace-guard.js";
import type { NotebookCheckpoint, NotebookInfo, NotebookState } from "./state.js";
import { notebookClosed } from "./state.js";
import { NotebookStatus } from "./status.js";
import { currentOwner } from "./store/owner.js";
import { Seal } from "./store/seal.js";
import type { Workspace } from "./workspace/workspace.js";

const LAST_SNAPSHOT_MS = 30_000;

interface Foundation {
  readonly resolved: ResolvedNotebookOptions;
  readonly runtime: StatefulRuntime;
  readonly seal: Seal;
  readonly journal: Journal;
  readonly sessionFiles: SessionFiles;
}

/** A notebook with what keeps it: its session, its journal and its files. */
export class LiveNotebook extends Notebook {
  readonly #foundation: Foundation;
  readonly #journal: Journal;
  readonly #sessionFiles: SessionFiles;
  readonly #cells: CellList;
  readonly #keeper: SessionKeeper;
  readonly #snapshots: Snapshots;
  readonly #privacy: PrivacyGuard;
  readonly #guard: WorkspaceGuard;
  readonly #runner: CellRunner;
  readonly #status: NotebookStatus;
  readonly #lease: Disposable;
  /** Everything that needs the session waits here for its turn. */
  readonly #queue = new TaskQueue();
  #stopping: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(foundation: Foundation) {
    super();
    const { resolved, seal, journal, sessionFiles } = foundation;
    const { id, settings } = resolved;
    const session = () => this.#keeper.session;
    const cellList = new CellList(() => journal.document.records);
    const snapshotFailure = () => this.#snapshots.failure;
    const notes = new CellNotes({ journal, session, snapshotFailure });
    const saved = { id, journal, seal, settings, sessionFiles, cellList, notes, session };
    this.#foundation = foundation;
    this.#journal = journal;
    this.#sessionFiles = sessionFiles;
    this.#cells = cellList;
    this.#keeper = new SessionKeeper(saved);
    this.#snapshots = new Snapshots(saved);
    this.#privacy = new PrivacyGuard(journal, sessionFiles.proxy, settings.privateFiles);
    const inTurn = (work: () => Promise<void>) => this.#task(work);
    const [keeper, snapshots, privacy] = [this.#keeper, this.#snapshots, this.#privacy];
    const live = { ...saved, keeper, snapshots, privacy, inTurn };
    this.#guard = new WorkspaceGuard(live);
    this.#runner = new CellRunner({ ...live, guard: this.#guard });
    this.#status = new NotebookStatus(live);
    this.#lease = journal.watchLease(() => void this.close().catch(() => {}));
  }

  static override async open(options: NotebookOptions): Promise<Notebook> {
    const resolved = readOptions(options);
    const { id, dir, store, takeover, create } = resolved;
    const runtime = resolved.runtime ?? (await sharedRuntime());
    const seal = await Seal.open(dir);
    const owner = currentOwner();
    const making = create ? () => newDocument(owner) : undefined;
    const journal = await Journal.open({ store, id, owner, takeover, create: making });
    const plan = { resolved, runtime, cutReason: journal.document.private?.reason };
    let sessionFiles: SessionFiles | undefined;
    try {
      sessionFiles = await claimSessionDir(plan, journal);
      return await LiveNotebook.#begin({ resolved, runtime, seal, journal, sessionFiles });
    } catch (error) {
      await sessionFiles?.[Symbol.asyncDispose]();
      throw await leave(dir, journal, error);
    }
  }

  static async #begin(foundation: Foundation): Promise<LiveNotebook> {
    const notebook = new LiveNotebook(foundation);
    try {
      await notebook.#privacy.survey(foundation.sessionFiles.workspace);
      await notebook.#queue.run(async () => {
        await Promise.all([notebook.#keeper.ready(), notebook.#status.load()]);
      });
      return notebook;
    } catch (error) {
      notebook.#rest();
      await notebook.#keeper.close();
      throw error;
    }
  }

  static override async importIpynb(
    file: Uint8Array | string,
    options: NotebookOptions,
  ): Promise<Notebook> {
    const { id, dir, store, settings } = readOptions(options);
    await importNotebook(file, { ...id, store, maxCells: settings.maxCells });
    try {
      return await LiveNotebook.open(options);
    } catch (error) {
      await removeNotebook({ dir, store, ...id }).catch(() => {});
      throw error;
    }
  }

  override get info(): NotebookInfo {
    return this.#status.info;
  }

  override get state(): NotebookState {
    return this.#status.state;
  }

  override get cells(): readonly Cell[] {
    return this.#cells.cells;
  }

  override show(key: CellKey): Cell {
    return this.#cells.find(key);
  }

  override async add(code: string): Promise<Cell> {
    this.#check();
    return await this.#runner.save(this.#runner.append(code).id);
  }

  override async run(
    source: string | Pick<Cell, "id">,
    options: CellRunOptions = {},
  ): Promise<Cell> {
    return await this.start(source, options).done;
  }

  override start(source: string | Pick<Cell, "id">, options: CellRunOptions = {}): CellRun {
    this.#check();
    checkRun(options);
    const key = typeof source === "object" ? source?.id : source;
    const known = this.cells.find(({ id }) => id === key);
    if (known === undefined && typeof source === "string") {
      return this.#start(this.#runner.append(source).id, options);
    }
    const cell = known ?? this.#cells.find(key);
    if (cell.state !== "IDLE") {
      throw new CellarError("INVALID_INPUT", `${cellName(cell)} has already run`, {
        remedy: "Use rerun() to run it again.",
      });
    }
    return this.#start(cell.id, options);
  }

  override async rerun(key: CellKey, options: CellRunOptions = {}): Promise<Cell> {
    this.#check();
    checkRun(options);
    return this.#start(this.#cells.find(key).id, options).done;
  }

  override async delete(key: CellKey): Promise<void> {
    const { id } = this.#cells.find(key);
    await this.#task(async () => {
      const held = new Set(this.#keeper.session?.held);
      await this.#journal.commit((now) => withoutCell(now, id, held));
      this.#cells.settle(id);
    });
  }

  override async clear(): Promise<void> {
    await this.#task(async () => {
      const before = this.cells;
      await this.#journal.commit(cleared);
      for (const { id } of before) this.#cells.settle(id);
      await this.#keeper.renew("the notebook was cleared: its variables are gone, its files stay");
    });
  }

  override async undo(count = 1): Promise<NotebookCheckpoint> {
    checkLimit("count", count, 1);
    return await this.#task(async () => {
      const { held } = await this.#keeper.ready();
      const target = stepsBack(held, count);
      const isKnown = target !== undefined && (target > 0 || !this.#journal.document.isShortened);
      if (!isKnown || !(await this.#keeper.goTo(target))) {
        throw await this.#status.gone(count, held);
      }
      await this.#journal.commit((now) => undone(now, target, held));
      this.#snapshots.want();
      return this.#status.checkpointAt(target, true);
    });
  }

  override checkpoints(): Promise<readonly NotebookCheckpoint[]> {
    return this.#task(() => this.#status.checkpoints());
  }

  override replay(options: CellRunOptions = {}): Promise<readonly Cell[]> {
    return this.#task(async () => {
      checkRun(options);
      return await this.#runner.replay(options);
    });
  }

  override async fork(session: string, options: { user?: string } = {}): Promise<Notebook> {
    const { runtime, seal } = this.#foundation;
    const { id: from, store, config, ...rest } = this.#foundation.resolved;
    const to = forkId(session, options, from);
    const resolved = { ...rest, id: to, store, config: { ...config, signal: undefined } };
    return await this.#task(async () => {
      const { present } = await this.#keeper.ready();
      const sessionDir = newSessionDirName();
      const cutReason = this.#journal.document.private?.reason;
      const plan = { resolved, runtime, name: sessionDir, cutReason };
      const sessionFiles = await SessionFiles.openNew(plan);
      let journal: Journal | undefined;
      try {
        sessionFiles.prepare();
        const copying = this.#sessionFiles.workspace.copyTo(sessionFiles.workspace);
        copying.catch(() => {});
        await this.#snapshots.settle();
        const { document } = this.#journal;
        if (present > 0 && !document.snapshots.some(({ sequence }) => sequence === present))
          throw this.#status.unkept();
        await copying;
        journal = await makeFork({ store, seal, from, to, document, present, sessionDir });
        return await LiveNotebook.#begin({ resolved, runtime, seal, journal, sessionFiles });
      } catch (error) {
        await journal?.remove().catch(() => {});
        await discardSessionDir(resolved, sessionFiles);
        throw error;
      }
    });
  }

  override resource(uri: string): Promise<ResourceContent> {
    return readResource(this.cells, uri, this.#journal.blobCollector.blobs);
  }

  override files(): Promise<FileListing> {
    return this.#sessionFiles.workspace.files();
  }

  override async putFile(path: string, content: FileContent): Promise<void> {
    this.#check();
    const reason = this.#privacy.reasonFor([normalPath(path)]);
    if (reason !== undefined) await this.markPrivate(reason);
    await this.#changeFiles((workspace) => workspace.put(path, content));
  }

  override async removeFile(path: string): Promise<void> {
    this.#check();
    await this.#changeFiles((workspace) => workspace.remove(path));
  }

  override getFile(path: string, options?: ReadOptions): Promise<Buffer> {
    return this.#sessionFiles.workspace.get(path, options);
  }

  override async markPrivate(reason = "no reason given"): Promise<void> {
    this.#check();
    await this.#privacy.mark(reason);
    if (enforcesPrivacy(this.info.isolation.level)) return;
    await this.#task(async () => flagPrivate(await this.#keeper.ready()));
  }

  override get network(): NetworkReport | undefined {
    return this.#sessionFiles.proxy?.report;
  }

  override exportIpynb(): Promise<string> {
    return ipynbOf(this.#status.content((uri) => this.resource(uri)));
  }

  override exportHtml(): Promise<string> {
    return htmlOf(this.#status.content((uri) => this.resource(uri)));
  }

  override close(): Promise<void> {
    this.#stopping ??= this.#stop();
    this.#closing ??= this.#stopping
      .finally(() => this.#journal.release())
      .catch((error: unknown) => {
        this.#closing = undefined;
        throw error;
      });
    return this.#closing;
  }

  async #stop(): Promise<void> {
    this.#rest();
    this.#runner.cancelAll();
    // Nothing is saved after a takeover.
    if (this.#journal.isFenced) await Promise.all([this.#snapshots.stop(), this.#keeper.close()]);
    await this.#queue.run(async () => {});
    try {
      if (!this.#journal.isFenced) await this.#snapshots.settle(LAST_SNAPSHOT_MS);
    } finally {
      await this.#snapshots.stop();
      await this.#keeper.close().finally(() => this.#sessionFiles[Symbol.asyncDispose]());
    }
    await removeFormerDirs(this.#foundation.resolved.dir, this.#journal).catch(() => {});
  }

  #rest(): void {
    this.#guard[Symbol.dispose]();
    this.#lease[Symbol.dispose]();
  }

  async #changeFiles(change: (workspace: Workspace) => Promise<void>): Promise<void> {
    this.#guard.forgetFiles();
    await change(this.#sessionFiles.workspace);
    // Fails where another process copied the workspace before the change.
    await this.#journal.confirm();
  }

  #check(): void {
    this.#journal.check();
    if (this.#stopping !== undefined) throw notebookClosed();
  }

  async #task<T>(work: () => Promise<T>): Promise<T> {
    this.#check();
    return await this.#queue.run(async () => {
      this.#journal.check();
      return work();
    });
  }

  #start(id: string, options: CellRunOptions): CellRun {
    return this.#runner.start(id, options, (work) => this.#task(work));
  }
}
