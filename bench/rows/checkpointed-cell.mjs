import { setTimeout as rest } from "node:timers/promises";
import { open, runTrivial, warm } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const BASE = { preload: "full", poolSize: 4 };
const BLOCK = 8;
const APART_MS = 50;
const SETTLE_MS = 100;

/** What a checkpoint after every cell costs the next cell. */
export const checkpointedCell = {
  key: "checkpointed_vs_live",
  target: { at_most: 1.2 },
  async run({ runtime, count, observe, use }) {
    observe(await warm(runtime, BASE));
    const live = use(await open(runtime, { ...BASE, checkpoints: "off" }));
    const kept = use(await open(runtime, { ...BASE, checkpoints: "always" }));
    const apart = await measure({ live, kept }, { rounds: count(10, 2), gap: APART_MS });
    const dense = await measure({ live, kept }, { rounds: count(6, 1), gap: 0 });
    return {
      ratio: median(apart.kept) / median(apart.live),
      rows: [
        { name: "Cellar, checkpoints off, 50 ms apart", samples: apart.live },
        { name: "Cellar, checkpoints on, 50 ms apart", samples: apart.kept },
        { name: "Cellar, checkpoints off, back to back", samples: dense.live },
        {
          name: "Cellar, checkpoints on, back to back",
          samples: dense.kept,
          note: "each cell waits for the previous checkpoint",
        },
      ],
    };
  },
};

/** Blocks of cells with a fixed gap, alternating between the sessions. */
function measure({ live, kept }, { rounds, gap }) {
  return interleave(
    { live: () => timeBlock(live, gap), kept: () => timeBlock(kept, gap) },
    { rounds, warmups: 1, pause: SETTLE_MS },
  );
}

async function timeBlock(sandbox, gap) {
  await runTrivial(sandbox);
  const times = [];
  for (let cell = 0; cell < BLOCK; cell += 1) {
    if (gap > 0) await rest(gap);
    times.push(await time(() => runTrivial(sandbox)));
  }
  return times;
}
