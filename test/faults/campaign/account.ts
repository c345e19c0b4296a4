import { createHash } from "node:crypto";
import type { Notebook } from "../../../src/index.js";
import type { Cell } from "../../../src/notebook/index.js";

/** A cell as a process that has the notebook open sees it. */
export interface SeenCell {
  readonly id: string;
  readonly index: number;
  readonly number: number | null;
  readonly code: string;
  readonly state: Cell["state"];
  readonly executionCount: number | null;
  readonly isUndone: boolean;
  /** What it showed of the variables: its first line. */
  readonly shown: string;
  /** The digest of all that is kept of it. */
  readonly record: string;
  readonly resources: readonly string[];
}

/** What a process says of a notebook that it has open. */
export interface Account {
  readonly cells: readonly SeenCell[];
  readonly present: number;
  readonly snapshot: number | null;
  readonly restored: number | null;
  readonly ranAfter: readonly number[];
  readonly refused: readonly { readonly sequence: number; readonly reason: string }[];
  readonly warnings: readonly string[];
}

export function accountOf(notebook: Notebook): Account {
  const { present, snapshot, restored, ranAfter, refused, warnings } = notebook.state;
  return {
    cells: notebook.cells.map(seen),
    present,
    snapshot: snapshot?.sequence ?? null,
    restored,
    ranAfter,
    refused,
    warnings,
  };
}

function seen(whole: Cell): SeenCell {
  const { index, number, isUndone = false, ...cell } = whole;
  const record = createHash("sha256")
    .update(JSON.stringify(ordered(cell)))
    .digest("hex");
  const { id, code, state, executionCount } = cell;
  const [first] = cell.outputs;
  const shown = first?.type === "TEXT" ? (first.text.split("\n")[0] ?? "") : "";
  const resources = cell.resources.map(({ uri }) => uri);
  return { id, index, number, code, state, executionCount, isUndone, shown, record, resources };
}

/** Two processes give the same text for the same cell. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.sort().map(([key, inner]) => [key, ordered(inner)]));
}
