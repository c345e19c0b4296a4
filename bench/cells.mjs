import { setTimeout as rest } from "node:timers/promises";
import { runTrivial } from "./cellar.mjs";
import { time } from "./stopwatch.mjs";

/** Milliseconds of each of so many trivial cells, with a gap before each. */
export async function timeCells(sandbox, cells, gap = 0) {
  const times = [];
  for (let cell = 0; cell < cells; cell += 1) {
    if (gap > 0) await rest(gap);
    times.push(await time(() => runTrivial(sandbox)));
  }
  return times;
}

/** The same back to back for so many milliseconds: whatever happens now and then has its share. */
export async function timeCellsFor(sandbox, duration) {
  const end = performance.now() + duration;
  const times = [];
  do times.push(await time(() => runTrivial(sandbox)));
  while (performance.now() < end);
  return times;
}
