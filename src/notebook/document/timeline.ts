/** One run of a cell that changed the variables. */
export interface Execution {
  /** Counts the runs of a notebook from 1, and is never used twice. */
  readonly sequence: number;
  readonly cell: string;
  /** Later cells ran without its effects. */
  readonly isLost?: boolean | undefined;
  /** The variables hold it, but the cell as it ran then could not be saved. */
  readonly isUnsaved?: boolean | undefined;
}

type Timeline = readonly Execution[];

/** More than can be gone back to one by one. */
const REMEMBERED = 300;
const LONGEST = 1000;

/** What the variables of a snapshot hold: every execution in effect up to it. */
export function heldAt(timeline: Timeline, sequence: number): number[] {
  return timeline
    .filter((execution) => execution.sequence <= sequence && !execution.isLost)
    .map((execution) => execution.sequence);
}

/** The timeline after a run on variables that held only some of it. */
export function extended(
  timeline: Timeline,
  held: ReadonlySet<number>,
  run: Pick<Execution, "sequence" | "cell">,
): Execution[] {
  const before = timeline.flatMap((execution) => {
    if (held.has(execution.sequence)) return [execution];
    if (execution.isUnsaved) return [];
    return execution.cell === run.cell ? [] : [{ ...execution, isLost: true }];
  });
  return [...before, run];
}

/**
 * The last run of each cell whose effects are not in the variables, in the order in which they ran. A
 * later run that was not saved has them in all the same: running it once more would do them twice.
 */
export function missing(timeline: Timeline, held: ReadonlySet<number>): Execution[] {
  const absent = timeline.filter(({ sequence, isUnsaved }) => !isUnsaved && !held.has(sequence));
  const unsaved = timeline.filter(({ sequence, isUnsaved }) => isUnsaved && held.has(sequence));
  return absent.filter(
    ({ cell, sequence }, at) =>
      !absent.slice(at + 1).some((next) => next.cell === cell) &&
      !unsaved.some((next) => next.cell === cell && next.sequence > sequence),
  );
}

/** The timeline with runs that the variables hold and no cell tells: they are told until undone. */
export function marked(timeline: Timeline, unsaved: readonly Execution[]): Timeline {
  const known = new Set(timeline.map(({ sequence }) => sequence));
  const news = unsaved.filter(({ sequence }) => !known.has(sequence));
  if (news.length === 0) return timeline;
  return [...timeline, ...news].sort((one, other) => one.sequence - other.sequence);
}

/** The newest state that would be restored: one that was kept of what is in effect. */
export function newestInEffect<T extends { readonly sequence: number }>(
  snapshots: readonly T[],
  timeline: Timeline,
): T | undefined {
  return snapshots.find(({ sequence }) => isInEffect(timeline, sequence));
}

/** Where `count` steps back from the present lead: 0 is the beginning, undefined out of reach. */
export function stepsBack(held: readonly number[], count: number): number | undefined {
  if (count > held.length) return undefined;
  return held.at(-1 - count) ?? 0;
}

/** What is missing in the variables cannot be taken from them, and stays missing. */
export function cutAfter(
  timeline: Timeline,
  sequence: number,
  held: ReadonlySet<number>,
): { kept: Execution[]; taken: Execution[] } {
  const isTaken = (execution: Execution) =>
    execution.sequence > sequence && held.has(execution.sequence);
  return {
    kept: timeline.filter((execution) => !isTaken(execution)),
    taken: timeline.filter(isTaken),
  };
}

/** A deleted cell cannot be run again, but what it did to the variables stays. */
export function withoutRunsOf(
  timeline: Timeline,
  cell: string,
  held: ReadonlySet<number>,
): Execution[] {
  return timeline.filter((execution) => execution.cell !== cell || held.has(execution.sequence));
}

/** Whether a state that was kept after that execution can still be taken for a past of this one. */
export function isInEffect(timeline: Timeline, sequence: number): boolean {
  return timeline.some((execution) => execution.sequence === sequence && !execution.isLost);
}

/** Very old executions are forgotten, but for snapshots' own and the last of each cell. */
export function shortened(timeline: Timeline, snapshots: readonly number[]): Execution[] {
  if (timeline.length <= LONGEST) return [...timeline];
  const recent = timeline.length - REMEMBERED;
  const last = new Map(timeline.map(({ cell }, at) => [cell, at]));
  return timeline.filter(
    ({ sequence, cell }, at) =>
      at >= recent || last.get(cell) === at || snapshots.includes(sequence),
  );
}
