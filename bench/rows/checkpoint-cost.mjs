import { setTimeout as rest } from "node:timers/promises";
import { open, run } from "../cellar.mjs";
import { median, round } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const GAP_MS = 50;
const PREPARE = `import numpy as np, pandas as pd
rng = np.random.default_rng(1)
frame = pd.DataFrame({"k": rng.integers(0, 100, 100_000), "v": rng.random(100_000)})
array = np.ones(12_500_000)`;

const CELLS = [
  { name: "groupby of 100k rows", code: 'frame.groupby("k").v.mean().iloc[0]', full: 40 },
  { name: "sum of a 100 MB array", code: "float(array.sum())", full: 30 },
  { name: "100 MB array += 1 in place", code: "array += 1", full: 12 },
];

/** Checkpoints with cells that read or write a lot of memory. */
export const checkpointCost = {
  key: "checkpoint_cost",
  async run({ runtime, count, use }) {
    const live = use(await open(runtime, { checkpoints: "off" }));
    const kept = use(await open(runtime, { checkpoints: "always" }));
    await run(live, PREPARE);
    await run(kept, PREPARE);
    await rest(GAP_MS);
    const rows = [];
    for (const { name, code, full } of CELLS) {
      let missing = 0;
      const samples = await interleave(
        {
          live: () => time(() => run(live, code)),
          kept: () =>
            time(async () => {
              const { state } = await run(kept, code);
              if (state.checkpoint === null) missing += 1;
            }),
        },
        { rounds: count(full, 3), pause: GAP_MS },
      );
      const times = round(median(samples.kept) / median(samples.live));
      const none = missing > 0 ? `; ${missing} cells got no checkpoint` : "";
      rows.push(
        { name: `Cellar, ${name}, checkpoints off`, samples: samples.live },
        {
          name: `Cellar, ${name}, checkpoints "always"`,
          samples: samples.kept,
          note: `${times} times the median without${none}`,
        },
      );
    }
    return { rows };
  },
};
