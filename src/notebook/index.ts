/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />

export type { Cell, CellOutput, CellState, FileChanges, Resource } from "./cell.js";
export type { CellKey } from "./document/cell-finding.js";
export type { NotebookSummary } from "./document/list.js";
export { Notebook } from "./notebook.js";
export type { NotebookOptions } from "./options.js";
export type { CellRun, CellRunOptions } from "./run/cell-result.js";
export type { CellEvent } from "./run/events.js";
export type { NotebookCheckpoint, NotebookInfo, NotebookState } from "./state.js";
export type {
  BlobRef,
  BlobStore,
  HeadRevision,
  HeadStore,
  NotebookId,
  NotebookStore,
} from "./store/store.js";
