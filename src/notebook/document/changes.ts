import { markUndone } from "./cell-records.js";
import type { SnapshotRecord } from "./head.js";
import type { NotebookDocument } from "./journal.js";
import {
  cutAfter,
  type Execution,
  extended,
  isInEffect,
  marked,
  shortened,
  withoutRunsOf,
} from "./timeline.js";

/** After a run that changed the variables, which `held` the effects of these runs before. */
export function withRun(
  now: NotebookDocument,
  held: ReadonlySet<number>,
  run: Execution,
): NotebookDocument {
  const long = extended(now.executions, held, run);
  // A later cell ran without them, so they are never restored.
  const snapshots = now.snapshots.filter(({ sequence }) => isInEffect(long, sequence));
  const executions = shortened(
    long,
    snapshots.map(({ sequence }) => sequence),
  );
  const isShortened = now.isShortened || executions.length < long.length;
  return { ...now, executions, isShortened, snapshots };
}

/** After the variables went back to a point of the timeline. */
export function undone(
  now: NotebookDocument,
  target: number,
  held: readonly number[],
): NotebookDocument {
  const { kept, taken } = cutAfter(now.executions, target, new Set(held));
  const sequences = new Set(taken.map(({ sequence }) => sequence));
  return {
    ...now,
    executions: kept,
    snapshots: now.snapshots.filter(({ sequence }) => sequence <= target),
    records: now.records.map((record) =>
      sequences.has(record.cell.executionCount ?? 0) ? markUndone(record, true) : record,
    ),
  };
}

/** Marks runs that are in the variables, and so in a snapshot, but could not be saved themselves. */
export function withUnsaved(
  now: NotebookDocument,
  unsaved: readonly Execution[],
): NotebookDocument {
  const executions = marked(now.executions, unsaved);
  if (executions === now.executions) return now;
  const last = executions.at(-1)?.sequence ?? 0;
  const executionCount = Math.max(now.executionCount, last);
  return { ...now, executions: [...executions], executionCount };
}

/** Unchanged where the run of the snapshot was undone meanwhile. */
export function withSnapshot(
  now: NotebookDocument,
  snapshot: SnapshotRecord,
  keep: number,
): NotebookDocument {
  if (!isInEffect(now.executions, snapshot.sequence)) return now;
  const others = now.snapshots.filter(
    ({ sequence }) => sequence !== snapshot.sequence && isInEffect(now.executions, sequence),
  );
  const snapshots = [...others, snapshot].sort((a, b) => b.sequence - a.sequence).slice(0, keep);
  return { ...now, snapshots };
}

/** What the cell did to the variables stays. */
export function withoutCell(
  now: NotebookDocument,
  id: string,
  held: ReadonlySet<number>,
): NotebookDocument {
  const executions = withoutRunsOf(now.executions, id, held);
  return { ...now, executions, records: now.records.filter(({ cell }) => cell.id !== id) };
}

/** Without cells and variables. */
export function cleared(now: NotebookDocument): NotebookDocument {
  return { ...now, records: [], executions: [], isShortened: false, snapshots: [] };
}
