import type { ISandbox } from "../../../src/index.js";
import { differencesOf, type Step, sightOf } from "./line.js";

export interface Comparison {
  readonly states: number;
  /** Of the first cell after which something differs. */
  readonly differences: readonly string[];
}

/** The same cells in a session that nothing happens to: each shows there what it showed. */
export async function compare(sandbox: ISandbox, steps: readonly Step[]): Promise<Comparison> {
  let states = 0;
  for (const [index, { cell, number, sight }] of steps.entries()) {
    const wanted = sightOf(await sandbox.execute(cell.code));
    if (sight === undefined) continue;
    if (sight.state !== undefined) states += 1;
    const found = differencesOf(sight, wanted);
    if (found.length === 0) continue;
    const trail = steps.slice(0, index + 1).map((step) => step.number);
    const where = `in cell ${number} (${cell.kind}), after ${trail.join(" ")}`;
    return { states, differences: found.map((line) => `${where}: ${line}`) };
  }
  return { states, differences: [] };
}
