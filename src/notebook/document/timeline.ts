/** One run of a cell that changed the variables. */
export interface Execution {
  /** From 1; no number is used twice. */
  readonly sequence: number;
  readonly cell: string;
  /** Later cells ran without its effects. */
  readonly isLost?: boolean | undefined;
  /** Its effects are in the variables, but the cell could not be saved. */
  readonly isUnsaved?: boolean | undefined;
}

type Timeline = readonly Execution[];

const REMEMBERED = 300;
const LONGEST = 1000;

/** The runs whose effects a snapshot holds. */
export function heldAt(timeline: Timeline, sequence: number): number[] {
  return timeline
    .filter((execution) => execution.sequence <= sequence && !execution.isLost)
    .map((execution) => execution.sequence);
}

/** After a run on variables that `held` only some of the earlier ones. */
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

/** With runs that are in the variables but in no saved cell; they are reported until undone. */
export function marked(timeline: Timeline, unsaved: readonly Execution[]): Timeline {
  const known = new Set(timeline.map(({ sequence }) => sequence));
  const news = unsaved.filter(({ sequence }) => !known.has(sequence));
  if (news.length === 0) return timeline;
  return [...timeline, ...news].sort((one, other) => one.sequence - other.sequence);
}

export function newestInEffect<T extends { readonly sequence: number }>(
  snapshots: readonly T[],
  timeline: Timeline,
): T | undefined {
  return snapshots.find(({ sequence }) => isInEffect(timeline, sequence));
}

/** The run that `count` steps back lead to: 0 is the beginning, undefined is out of reach. */
export function stepsBack(held: readonly number[], count: number): number | undefined {
  if (count > held.length) return undefined;
  return held.at(-1 - count) ?? 0;
}

/** Runs that are missing in the variables stay in the timeline. */
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

export function withoutRunsOf(
  timeline: Timeline,
  cell: string,
  held: ReadonlySet<number>,
): Execution[] {
  return timeline.filter((execution) => execution.cell !== cell || held.has(execution.sequence));
}

/** Whether a snapshot after that run is still part of this timeline's past. */
export function isInEffect(timeline: Timeline, sequence: number): boolean {
  return timeline.some((execution) => execution.sequence === sequence && !execution.isLost);
}

/** Drops very old runs, except those of snapshots and the last of each cell. */
export function shortened(timeline: Timeline, snapshots: readonly number[]): Execution[] {
  if (timeline.length <= LONGEST) return [...timeline];
  const recent = timeline.length - REMEMBERED;
  const last = new Map(timeline.map(({ cell }, at) => [cell, at]));
  return timeline.filter(
    ({ sequence, cell }, at) =>
      at >= recent || last.get(cell) === at || snapshots.includes(sequence),
  );
}
