import type { FileContent } from "../backends/files/file-content.js";
import type { FileListing, ReadOptions } from "../backends/files/workspace-file.js";
import type { NetworkReport } from "../egress/proxy.js";
import type { Cell } from "./cell.js";
import type { CellKey } from "./document/cell-finding.js";
import type { NotebookSummary } from "./document/list.js";
import type { ResourceContent } from "./document/resource-content.js";
import type { NotebookOptions, PlaceOptions } from "./options.js";
import type { CellRun, CellRunOptions } from "./run/cell-result.js";
import type { NotebookCheckpoint, NotebookInfo, NotebookState } from "./state.js";

/**
 * Cells, their outputs, variables and files, kept durably: what was acknowledged is saved. The code
 * behind it (`LiveNotebook`) is loaded with the first notebook.
 */
export abstract class Notebook implements AsyncDisposable {
  /** Opens a notebook for this process alone, and makes it where it is not there yet. */
  static async open(options: NotebookOptions): Promise<Notebook> {
    const { LiveNotebook } = await import("./live-notebook.js");
    return await LiveNotebook.open(options);
  }

  static async list(place: PlaceOptions & { user?: string }): Promise<readonly NotebookSummary[]> {
    const { listNotebooks } = await import("./document/list.js");
    return await listNotebooks(place);
  }

  /** Deletes a notebook that nobody holds, with its files. */
  static async remove(options: PlaceOptions & { user: string; session: string }): Promise<void> {
    const { removeNotebook } = await import("./document/list.js");
    await removeNotebook(options);
  }

  /** A new notebook with the cells of an `.ipynb` file; none of them has run in it. */
  static async importIpynb(file: Uint8Array | string, options: NotebookOptions): Promise<Notebook> {
    const { LiveNotebook } = await import("./live-notebook.js");
    return await LiveNotebook.importIpynb(file, options);
  }

  abstract get info(): NotebookInfo;

  /** What the variables stand for, and what is kept of them. */
  abstract get state(): NotebookState;

  abstract get cells(): readonly Cell[];

  abstract show(key: CellKey): Cell;

  /** A cell that has not run. */
  abstract add(code: string): Promise<Cell>;

  /** Runs new code, or a cell that has not run yet, and gives the cell when it is saved. */
  abstract run(source: string | Pick<Cell, "id">, options?: CellRunOptions): Promise<Cell>;

  /** As `run`, with events to watch it by. */
  abstract start(source: string | Pick<Cell, "id">, options?: CellRunOptions): CellRun;

  abstract rerun(key: CellKey, options?: CellRunOptions): Promise<Cell>;

  /** The cells after it move up. What it did to the variables stays. */
  abstract delete(key: CellKey): Promise<void>;

  /** Takes all cells and variables away; files stay. */
  abstract clear(): Promise<void>;

  /** Takes the effects of the last runs on the variables back. Cells and files stay. */
  abstract undo(count?: number): Promise<NotebookCheckpoint>;

  /** What can be gone back to, oldest first. */
  abstract checkpoints(): Promise<readonly NotebookCheckpoint[]>;

  /** Runs the cells again whose effects are missing; stops at one that does not complete any more. */
  abstract replay(options?: CellRunOptions): Promise<readonly Cell[]>;

  /** A notebook of its own that goes on from here: cells, variables and files are copied. */
  abstract fork(session: string, options?: { user?: string }): Promise<Notebook>;

  abstract resource(uri: string): Promise<ResourceContent>;

  abstract files(): Promise<FileListing>;

  abstract putFile(path: string, content: FileContent): Promise<void>;

  /** Also where code may not run any more, since there is far too much. */
  abstract removeFile(path: string): Promise<void>;

  abstract getFile(path: string, options?: ReadOptions): Promise<Buffer>;

  /** Cuts the network at once and for good. */
  abstract markPrivate(reason?: string): Promise<void>;

  /** What was reached and refused; undefined where there is no way out at all. */
  abstract get network(): NetworkReport | undefined;

  abstract exportIpynb(): Promise<string>;

  abstract exportHtml(): Promise<string>;

  /**
   * Cancels what runs, waits for the last snapshot and lets the next one open the notebook. Where
   * that cannot be saved it fails and may be called again; this process may open it anew anyway.
   */
  abstract close(): Promise<void>;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
