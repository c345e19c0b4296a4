import type { Isolation } from "../backends/backend.js";
import { closedError } from "../backends/session/checks.js";
import type { CellarError } from "../errors.js";
import type { RestoreReport, StateManifest } from "../protocol/messages.js";

/** The truth about the variables of a notebook and what is kept of them. */
export interface NotebookState {
  /** The number of the last run that the variables hold; 0 when they are empty. */
  readonly present: number;
  /** The newest state that would survive the end of this process. */
  readonly snapshot: {
    readonly sequence: number;
    readonly at: string;
    readonly bytes: number;
    readonly manifest: StateManifest | null;
  } | null;
  /** The snapshot that this session began with. */
  readonly restored: number | null;
  /** Numbers of cells that ran, but whose effects are not in the variables; `replay()` runs them. */
  readonly ranAfter: readonly number[];
  /** Variables that the restored snapshot did not bring back, and what to do about each. */
  readonly lost: RestoreReport["lost"];
  /** Snapshots that were not trusted or could not be read; they are kept aside. */
  readonly refused: readonly { readonly sequence: number; readonly reason: string }[];
  readonly warnings: readonly string[];
}

export interface NotebookInfo {
  readonly user: string;
  readonly session: string;
  readonly createdAt: string;
  /** Counts the openings. */
  readonly epoch: number;
  readonly isolation: Isolation;
  readonly python: { readonly version: string; readonly executable: string };
  readonly mode: "zygote" | "plain" | "worker" | "direct";
  readonly private: { readonly reason: string; readonly at: string } | null;
}

/** A point of the notebook's timeline that can be gone back to. */
export interface NotebookCheckpoint {
  /** The number of the last run in it; 0 is the beginning. */
  readonly sequence: number;
  /** The cell whose run that was; null at the beginning, or where it was deleted or has run again. */
  readonly cell: number | null;
  readonly kind: "live" | "snapshot";
}

export function notebookClosed(): CellarError {
  return closedError("the notebook was closed", "Open it again with Notebook.open().");
}

export function cellList(numbers: readonly number[]): string {
  return `${numbers.length === 1 ? "cell" : "cells"} ${numbers.join(", ")}`;
}
