import type { BurstReport } from "./burst.js";
import { INCIDENTS, type Incident } from "./incidents.js";
import type { RunReport } from "./run.js";
import type { Variant } from "./variants.js";

/** How checkpoints are made: with a log of written pages, or by forks alone. */
export const WAYS = ["pages", "forks"] as const;
export type Way = (typeof WAYS)[number];

/** What a worker is to do. */
export interface Order {
  readonly root: string;
  readonly way: Way;
  readonly runs: number;
  readonly bursts: number;
  readonly seed: number;
  readonly lanes: number;
  readonly variant?: Variant | undefined;
  /** First, whether each kind of cell runs and its effect is seen. */
  readonly isKinds: boolean;
}

export interface Totals {
  runs: number;
  restores: Record<Incident, number>;
  states: number;
  kept: number;
  copies: number;
  different: number;
  failed: number;
  bursts: number;
  kills: number;
  killsInCells: number;
  cells: number;
  lostCells: number;
  /** Losses of a cell whose checkpoint was told before it was made. */
  toldHeld: number;
  /** Milliseconds beyond the interval: inside cells with and without the last one, and as results count. */
  excess: { inside: number; followed: number; outside: number };
  untrue: number;
  tooMuch: number;
  failedBursts: number;
}

export function emptyTotals(): Totals {
  return {
    runs: 0,
    restores: { undo: 0, crash: 0, kill: 0, timeout: 0, fork: 0 },
    states: 0,
    kept: 0,
    copies: 0,
    different: 0,
    failed: 0,
    bursts: 0,
    kills: 0,
    killsInCells: 0,
    cells: 0,
    lostCells: 0,
    toldHeld: 0,
    excess: {
      inside: Number.NEGATIVE_INFINITY,
      followed: Number.NEGATIVE_INFINITY,
      outside: Number.NEGATIVE_INFINITY,
    },
    untrue: 0,
    tooMuch: 0,
    failedBursts: 0,
  };
}

export function addRun(totals: Totals, report: RunReport): void {
  totals.runs += 1;
  totals.states += report.states;
  totals.kept += report.kept;
  totals.copies += report.copies;
  for (const incident of INCIDENTS) totals.restores[incident] += report.restores[incident] ?? 0;
  if (report.differences.length > 0) totals.different += 1;
  if (report.failures.length > 0) totals.failed += 1;
}

export function addBurst(totals: Totals, report: BurstReport): void {
  totals.bursts += 1;
  totals.kills += report.kills;
  totals.killsInCells += report.killsInCells;
  totals.cells += report.cells;
  totals.untrue += report.untrue.length;
  totals.tooMuch += report.tooMuch.length;
  if (report.failures.length > 0) totals.failedBursts += 1;
  for (const { interval, cells, inside, outside, last, isToldHeld } of report.losses) {
    totals.lostCells += cells;
    if (isToldHeld) totals.toldHeld += 1;
    const { excess } = totals;
    excess.inside = Math.max(excess.inside, inside - interval);
    excess.followed = Math.max(excess.followed, inside - last - interval);
    excess.outside = Math.max(excess.outside, outside - interval);
  }
}

/** JSON has no infinity: a worker without a loss says null. */
export function addTotals(totals: Totals, more: Totals): void {
  for (const [name, value] of Object.entries(more)) {
    if (typeof value === "number") (totals[name as "runs"] as number) += value;
  }
  for (const incident of INCIDENTS) totals.restores[incident] += more.restores[incident];
  for (const part of ["inside", "followed", "outside"] as const) {
    totals.excess[part] = Math.max(
      totals.excess[part],
      more.excess[part] ?? Number.NEGATIVE_INFINITY,
    );
  }
}

export function summaryOfRuns({ runs, restores, states, different, failed }: Totals): string {
  const all = INCIDENTS.reduce((sum, incident) => sum + restores[incident], 0);
  const kinds = INCIDENTS.map((incident) => `${incident} ${restores[incident]}`).join(", ");
  return `runs ${runs}, restores ${all} (${kinds}), states compared ${states}, different ${different}, failed ${failed}`;
}

export function summaryOfBursts(totals: Totals): string {
  const { bursts, cells, kills, killsInCells, lostCells, untrue, tooMuch, failedBursts } = totals;
  const places = `in a cell ${killsInCells}, between ${kills - killsInCells}`;
  const found = `untrue ${untrue}, too much lost ${tooMuch}, failed ${failedBursts}`;
  return `bursts ${bursts}, cells ${cells}, kills ${kills} (${places}), cells lost ${lostCells}, ${found}`;
}

/** A process that holds more than one checkpoint holds them as pages. */
export function describeHeld({ kept, copies }: Totals): string {
  return `${kept} checkpoints before the first restores, held by ${copies} processes`;
}

/** The largest losses, in relation to the interval. */
export function describeExcess({ excess, toldHeld }: Totals): string {
  const { inside, followed, outside } = excess;
  const relative = (milliseconds: number) =>
    milliseconds > 0
      ? `${milliseconds.toFixed(1)} ms above the interval`
      : `${(-milliseconds).toFixed(1)} ms below the interval`;
  return [
    `most lost, as the cells measured it: ${relative(followed)} when the next cell had begun,`,
    `${relative(inside)} with a last cell whose checkpoint was about to be made;`,
    `as the durations of the results count it: ${relative(outside)}.`,
    `Lost before a checkpoint was made that the result had told: ${toldHeld}`,
  ].join(" ");
}
