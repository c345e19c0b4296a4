import { setTimeout as rest } from "node:timers/promises";
import { shuffled } from "./statistics.mjs";

/** Milliseconds of the work. */
export async function time(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/**
 * Runs each contender once per round, in a new order every time and with a pause before each,
 * so that other load on the machine affects all of them alike. Returns samples by name.
 */
export async function interleave(contenders, { rounds, warmups = 3, pause }) {
  const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = -warmups; round < rounds; round += 1) {
    for (const name of shuffled(Object.keys(contenders))) {
      await rest(pause);
      const taken = await contenders[name]();
      if (round >= 0) samples[name].push(...[taken].flat());
    }
  }
  return samples;
}
