import { buffer } from "node:stream/consumers";
import type { FileContent } from "../backends/files/file-content.js";
import { normalPath } from "../backends/files/file-path.js";
import type { FileListing, ReadOptions } from "../backends/files/workspace-file.js";
import { sharedRuntime } from "../backends/select.js";
import { checkLimit } from "../backends/session/checks.js";
import { TaskQueue } from "../concurrency/task-queue.js";
import { wrongKind } from "../config/kinds.js";
import { CellarError } from "../errors.js";
import { type Cell, cellName } from "./cell.js";
import { type CellKey, cellAt } from "./document/cell-finding.js";
import { makeFork, newDocument, newSessionDirName } from "./document/fork.js";
import { Journal } from "./document/journal.js";
import { listNotebooks, type NotebookSummary, removeNotebook } from "./document/list.js";
import { stepsBack, withoutCell } from "./document/timeline.js";
import { enforcesPrivacy } from "./egress/privacy.js";
import type { NetworkReport } from "./egress/proxy.js";
import { htmlOf } from "./interchange/html-export.js";
import { ipynbOf } from "./interchange/ipynb.js";
import { importNotebook } from "./interchange/notebook-import.js";
import { forkId, type NotebookOptions, type PlaceOptions, readOptions } from "./options.js";
import { resourceOf } from "./outputs/resources.js";
import { assemble, type Foundation, type NotebookParts } from "./parts.js";
import { flagPrivate } from "./privacy.js";
import { undone } from "./run/cell-queue.js";
import { type CellRun, type CellRunOptions, checkRun } from "./run/cell-result.js";
import { LeaseWatch } from "./run/lease-watch.js";
import { clearLeftDirs, leave, settleIn, vacate } from "./run/moving.js";
import { SessionFiles } from "./run/session-files.js";
import { WorkspaceGuard } from "./run/workspace-guard.js";
import type { NotebookCheckpoint, NotebookInfo, NotebookState } from "./state.js";
import { notebookClosed } from "./state.js";
import { currentOwner } from "./store/owner.js";
import { Seal } from "./store/seal.js";

/** How long closing waits for the last snapshot. */
const CLOSING_MS = 30_000;

/** Cells, their outputs, variables and files, kept durably: what was acknowledged is saved. */
export class Notebook implements AsyncDisposable {
  readonly #parts: NotebookParts;
  /** What needs the session waits here for its turn. */
  readonly #lane = new TaskQueue();
  readonly #guard: WorkspaceGuard;
  readonly #lease: LeaseWatch;
  #stopping: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(foundation: Foundation) {
    this.#parts = assemble(foundation);
    const { keeper, runner, sessionFiles, privacy } = this.#parts;
    const inTurn = (work: () => Promise<void>) => this.#task(work);
    const { workspace } = sessionFiles;
    this.#guard = new WorkspaceGuard({ keeper, runner, privacy, workspace, inTurn });
    this.#lease = new LeaseWatch(foundation.journal);
    foundation.journal.onFenced = () => void this.close().catch(() => {});
  }

  /** Opens a notebook for this process alone, and makes it where it is not there yet. */
  static async open(options: NotebookOptions): Promise<Notebook> {
    const wishes = readOptions(options);
    const { id, dir, store, takeover, create } = wishes;
    const runtime = wishes.runtime ?? (await sharedRuntime());
    const seal = await Seal.open(dir);
    const owner = currentOwner();
    const making = create ? () => newDocument(owner) : undefined;
    const journal = await Journal.open({ store, id, owner, takeover, create: making });
    const order = { wishes, runtime, cutReason: journal.document.private?.reason };
    let sessionFiles: SessionFiles | undefined;
    try {
      sessionFiles = await settleIn(order, journal);
      return await Notebook.#begin({ wishes, runtime, seal, journal, sessionFiles });
    } catch (error) {
      await sessionFiles?.[Symbol.asyncDispose]();
      throw await leave(dir, journal, error);
    }
  }

  static async #begin(foundation: Foundation): Promise<Notebook> {
    const notebook = new Notebook(foundation);
    try {
      await notebook.#parts.privacy.survey(foundation.sessionFiles.workspace);
      await notebook.#lane.run(async () => {
        await Promise.all([notebook.#parts.keeper.ready(), notebook.#parts.status.load()]);
      });
      return notebook;
    } catch (error) {
      notebook.#rest();
      await notebook.#parts.keeper.close();
      throw error;
    }
  }

  static list(
    place: PlaceOptions & { readonly user?: string },
  ): Promise<readonly NotebookSummary[]> {
    return listNotebooks(place);
  }

  /** Deletes a notebook that nobody holds, with its files. */
  static remove(options: PlaceOptions & { user: string; session: string }): Promise<void> {
    return removeNotebook(options);
  }

  /** A new notebook with the cells of an `.ipynb` file; none of them has run in it. */
  static async importIpynb(file: Uint8Array | string, options: NotebookOptions): Promise<Notebook> {
    const { id, dir, store, settings } = readOptions(options);
    const content = typeof file === "string" ? Buffer.from(file) : file;
    if (!(content instanceof Uint8Array)) throw wrongKind("the file", "a text or bytes", file);
    await importNotebook(content, { ...id, store, maxCells: settings.maxCells });
    try {
      return await Notebook.open(options);
    } catch (error) {
      // Unless somebody has it by now.
      await removeNotebook({ dir, store, ...id }).catch(() => {});
      throw error;
    }
  }

  get info(): NotebookInfo {
    return this.#parts.status.info;
  }

  /** What the variables stand for, and what is kept of them. */
  get state(): NotebookState {
    return this.#parts.status.state;
  }

  get cells(): readonly Cell[] {
    return this.#parts.cellList.cells;
  }

  show(key: CellKey): Cell {
    return this.#parts.cellList.find(key);
  }

  /** A cell that has not run. */
  async add(code: string): Promise<Cell> {
    this.#check();
    return await this.#parts.cellQueue.save(this.#parts.cellQueue.append(code).id);
  }

  /** Runs new code, or a cell that has not run yet, and gives the cell when it is saved. */
  async run(source: string | Pick<Cell, "id">, options: CellRunOptions = {}): Promise<Cell> {
    return await this.start(source, options).done;
  }

  /** As `run`, for those who want to watch. */
  start(source: string | Pick<Cell, "id">, options: CellRunOptions = {}): CellRun {
    this.#check();
    checkRun(options);
    const key = typeof source === "object" ? source?.id : source;
    const known = this.cells.find(({ id }) => id === key);
    if (known === undefined && typeof source === "string") {
      return this.#start(this.#parts.cellQueue.append(source).id, options);
    }
    const cell = known ?? this.#parts.cellList.find(key);
    if (cell.state !== "IDLE") {
      throw new CellarError("INVALID_INPUT", `${cellName(cell)} has been run`, {
        remedy: "Use rerun() to run it again.",
      });
    }
    return this.#start(cell.id, options);
  }

  async rerun(key: CellKey, options: CellRunOptions = {}): Promise<Cell> {
    this.#check();
    checkRun(options);
    return this.#start(this.#parts.cellList.find(key).id, options).done;
  }

  /** The cells after it move up. What it did to the variables stays. */
  async delete(key: CellKey): Promise<void> {
    const { id } = this.#parts.cellList.find(key);
    await this.#task(async () => {
      const held = new Set(this.#parts.keeper.session?.held);
      await this.#parts.journal.commit((now) => ({
        ...now,
        executions: withoutCell(now.executions, id, held),
        pages: now.pages.filter(({ cell }) => cell.id !== id),
      }));
      this.#parts.cellList.settle(id);
    });
  }

  /** Takes all cells and variables away; files stay. */
  async clear(): Promise<void> {
    await this.#task(async () => {
      const before = this.cells;
      await this.#parts.journal.commit((now) => ({
        ...now,
        pages: [],
        executions: [],
        isShortened: false,
        snapshots: [],
      }));
      for (const { id } of before) this.#parts.cellList.settle(id);
      await this.#parts.keeper.renew(
        "the notebook was cleared: its variables are gone, its files stay",
      );
    });
  }

  /** Takes the effects of the last runs on the variables back. Cells and files stay. */
  async undo(count = 1): Promise<NotebookCheckpoint> {
    checkLimit("count", count, 1);
    return await this.#task(async () => {
      const { held } = await this.#parts.keeper.ready();
      const target = stepsBack(held, count);
      const isKnown =
        target !== undefined && (target > 0 || !this.#parts.journal.document.isShortened);
      if (!isKnown || !(await this.#parts.keeper.goTo(target))) {
        throw await this.#parts.status.gone(count, held);
      }
      await this.#parts.journal.commit((now) => undone(now, target, held));
      this.#parts.snapshots.want();
      return this.#parts.status.checkpointAt(target, true);
    });
  }

  /** What can be gone back to, oldest first. */
  checkpoints(): Promise<readonly NotebookCheckpoint[]> {
    return this.#task(() => this.#parts.status.checkpoints());
  }

  /** Runs the cells again whose effects are missing; stops at one that does not complete any more. */
  replay(options: CellRunOptions = {}): Promise<readonly Cell[]> {
    return this.#task(async () => {
      checkRun(options);
      await this.#parts.keeper.ready();
      const absent = this.#parts.keeper.missing;
      const known = new Set(this.cells.map(({ id }) => id));
      const replayed: Cell[] = [];
      for (const { cell: id } of absent.filter(({ cell }) => known.has(cell))) {
        const before = this.#parts.cellList.find(id);
        const after = await this.#parts.cellQueue.perform(id, options);
        replayed.push(after);
        if (after.state !== before.state && after.state !== "COMPLETED") break;
      }
      return replayed;
    });
  }

  /** A notebook of its own that goes on from here: cells, variables and files are copied. */
  async fork(session: string, options: { user?: string } = {}): Promise<Notebook> {
    const { seal, runtime } = this.#parts;
    const { id: from, store, config, ...rest } = this.#parts.wishes;
    const to = forkId(session, options, from);
    const wishes = { ...rest, id: to, store, config: { ...config, signal: undefined } };
    return await this.#task(async () => {
      const { present } = await this.#parts.keeper.ready();
      const room = newSessionDirName();
      const cutReason = this.#parts.journal.document.private?.reason;
      const order = { wishes, runtime, name: room, cutReason };
      const sessionFiles = await SessionFiles.openNew(order);
      let journal: Journal | undefined;
      try {
        sessionFiles.prepare();
        const copying = this.#parts.sessionFiles.workspace.copyTo(sessionFiles.workspace);
        copying.catch(() => {});
        await this.#parts.snapshots.settle();
        const { document: book } = this.#parts.journal;
        if (present > 0 && !book.snapshots.some(({ sequence }) => sequence === present))
          throw this.#parts.status.unkept();
        await copying;
        journal = await makeFork({ store, seal, from, to, book, present, room });
        return await Notebook.#begin({ wishes, runtime, seal, journal, sessionFiles });
      } catch (error) {
        await journal?.remove().catch(() => {});
        await vacate(wishes, sessionFiles);
        throw error;
      }
    });
  }

  async resource(uri: string): Promise<{ readonly mime: string; readonly bytes: Buffer }> {
    const { cellList, journal } = this.#parts;
    const { resources } = cellAt(cellList.cells, resourceOf(uri).cell);
    const found = resources.find((one) => one.uri === uri);
    if (found === undefined) {
      throw new CellarError("NOT_FOUND", `there is nothing at ${uri}`, {
        remedy: "The resources of a cell list what it has.",
      });
    }
    return { mime: found.mime, bytes: await buffer(journal.blobCollector.blobs.get(found.blob)) };
  }

  files(): Promise<FileListing> {
    return this.#parts.sessionFiles.workspace.files();
  }

  async putFile(path: string, content: FileContent): Promise<void> {
    this.#check();
    const reason = this.#parts.privacy.reasonFor([normalPath(path)]);
    if (reason !== undefined) await this.markPrivate(reason);
    this.#parts.runner.forgetFiles();
    await this.#parts.sessionFiles.workspace.put(path, content);
    // Whoever takes the notebook over from now on takes the file along.
    await this.#parts.journal.confirm();
  }

  /** Also where code may not run any more, since there is far too much. */
  async removeFile(path: string): Promise<void> {
    this.#check();
    this.#parts.runner.forgetFiles();
    await this.#parts.sessionFiles.workspace.remove(path);
    await this.#parts.journal.confirm();
  }

  getFile(path: string, options?: ReadOptions): Promise<Buffer> {
    return this.#parts.sessionFiles.workspace.get(path, options);
  }

  /** Cuts the network at once and for good. */
  async markPrivate(reason = "no reason was given"): Promise<void> {
    this.#check();
    await this.#parts.privacy.mark(reason);
    if (enforcesPrivacy(this.info.isolation.level)) return;
    await this.#task(async () => flagPrivate(await this.#parts.keeper.ready()));
  }

  /** What was reached and refused; undefined where there is no way out at all. */
  get network(): NetworkReport | undefined {
    return this.#parts.sessionFiles.proxy?.report;
  }

  exportIpynb(): Promise<string> {
    return ipynbOf(this.#parts.status.content((uri) => this.resource(uri)));
  }

  exportHtml(): Promise<string> {
    return htmlOf(this.#parts.status.content((uri) => this.resource(uri)));
  }

  /**
   * Cancels what runs, waits for the last snapshot and lets the next one open the notebook. Where
   * that cannot be saved it fails and may be called again; this process may open it anew anyway.
   */
  close(): Promise<void> {
    this.#stopping ??= this.#stop();
    this.#closing ??= this.#release(this.#stopping);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Ends all that runs, whatever fails on the way. */
  async #stop(): Promise<void> {
    const { cellQueue: bench, journal, keeper, sessionFiles, snapshots, wishes } = this.#parts;
    this.#rest();
    bench.cancelAll();
    // Nothing that it does is saved any more.
    if (journal.isFenced) await Promise.all([snapshots.stop(), keeper.close()]);
    await this.#lane.run(async () => {});
    try {
      if (!journal.isFenced) await snapshots.settle(CLOSING_MS);
    } finally {
      await snapshots.stop();
      await keeper.close().finally(() => sessionFiles[Symbol.asyncDispose]());
    }
    await clearLeftDirs(wishes.dir, journal).catch(() => {});
  }

  async #release(stopping: Promise<void>): Promise<void> {
    try {
      await stopping.finally(() => this.#parts.journal.release());
    } catch (error) {
      this.#closing = undefined;
      throw error;
    }
  }

  #rest(): void {
    this.#guard[Symbol.dispose]();
    this.#lease[Symbol.dispose]();
  }

  #check(): void {
    this.#parts.journal.check();
    if (this.#stopping !== undefined) throw notebookClosed();
  }

  async #task<T>(work: () => Promise<T>): Promise<T> {
    this.#check();
    return await this.#lane.run(async () => {
      this.#parts.journal.check();
      return work();
    });
  }

  #start(id: string, options: CellRunOptions): CellRun {
    return this.#parts.cellQueue.start(id, options, (work) => this.#task(work));
  }
}
