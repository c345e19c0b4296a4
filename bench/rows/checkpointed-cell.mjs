import { open, runTrivial, warm } from "../cellar.mjs";
import { timeCells } from "../cells.mjs";
import { Meter } from "../processor-time.mjs";
import { median } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const BLOCK = 8;
const APART_MS = 50;
const SETTLE_MS = 100;

/** What a checkpoint after every cell costs the next cell. */
export const checkpointedCell = {
  key: "checkpointed_vs_live",
  target: { at_most: 1.2 },
  async run({ runtime, count, observe, account, use }) {
    const live = use(await open(runtime, { checkpoints: "off" }));
    const kept = use(await open(runtime, { checkpoints: "always" }));
    const zygote = await warm(runtime, {});
    observe(zygote);
    const sessions = account(zygote);
    const contest = { live, kept, sessions };
    const apart = await measure(contest, { rounds: count(13, 2), gap: APART_MS });
    const dense = await measure(contest, { rounds: count(13, 1), gap: 0 });
    return {
      ratio: median(apart.kept.samples) / median(apart.live.samples),
      rows: [
        { name: "Cellar, checkpoints off, 50 ms apart", ...apart.live },
        { name: 'Cellar, checkpoints "always", 50 ms apart', ...apart.kept },
        { name: "Cellar, checkpoints off, back to back", ...dense.live },
        {
          name: 'Cellar, checkpoints "always", back to back',
          ...dense.kept,
          note: "each cell waits for the previous checkpoint",
        },
      ],
    };
  },
};

/** Blocks of cells with a fixed gap, alternating between the sessions. */
async function measure({ live, kept, sessions }, { rounds, gap }) {
  const warmups = 1;
  const meters = { live: new Meter(sessions), kept: new Meter(sessions) };
  const timeBlock = async (sandbox, meter) => {
    await runTrivial(sandbox);
    return meter.around(() => timeCells(sandbox, BLOCK, gap));
  };
  const samples = await interleave(
    { live: () => timeBlock(live, meters.live), kept: () => timeBlock(kept, meters.kept) },
    { rounds, warmups, pause: SETTLE_MS },
  );
  const row = (name) => ({ samples: samples[name], cpu: meters[name].cpu(warmups) });
  return { live: row("live"), kept: row("kept") };
}
