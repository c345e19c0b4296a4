import { BusyLoops } from "../busy-loops.mjs";
import { open, warm } from "../cellar.mjs";
import { timeCells, timeCellsFor } from "../cells.mjs";
import { Meter } from "../processor-time.mjs";
import { median } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const SPACED_BATCH = 13;
const GAP_MS = 50;
const PAUSE_MS = 50;

/** A trivial cell as users run it, on a machine that is busy with something else. */
export const loadedCell = {
  key: "loaded_cell_vs_quiet",
  target: { at_most: 4 },
  async run({ runtime, count, observe, account, use }) {
    const sandbox = use(await open(runtime, {}));
    const zygote = await warm(runtime, {});
    observe(zygote);
    const sessions = account(zygote);
    const batch = count(500, 200);
    const dense = () => timeCellsFor(sandbox, batch);
    const spaced = () => timeCells(sandbox, count(SPACED_BATCH, 3), GAP_MS);
    const quiet = (work) => work();
    const contenders = {
      "back to back, a quiet machine": [quiet, dense],
      "back to back, a busy loop per core": [BusyLoops.beside, dense],
      "50 ms apart, a quiet machine": [quiet, spaced],
      "50 ms apart, a busy loop per core": [BusyLoops.beside, spaced],
    };
    const names = Object.keys(contenders);
    const meters = Object.fromEntries(names.map((name) => [name, new Meter(sessions)]));
    const works = names.map((name) => {
      const [beside, cells] = contenders[name];
      return [name, () => beside(() => meters[name].around(cells))];
    });
    const warmups = 1;
    const samples = await interleave(Object.fromEntries(works), {
      rounds: count(8, 1),
      warmups,
      pause: PAUSE_MS,
    });
    const [quietMedian, loadedMedian] = names.slice(0, 2).map((name) => median(samples[name]));
    return {
      ratio: loadedMedian / quietMedian,
      rows: names.map((name) => ({
        name: `Cellar, default, ${name}`,
        samples: samples[name],
        cpu: meters[name].cpu(warmups),
      })),
    };
  },
};
