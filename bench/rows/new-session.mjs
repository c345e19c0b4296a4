import { open, runTrivial, TRIVIAL, TRIVIAL_OUTPUT, warm } from "../cellar.mjs";
import { PickleCells } from "../peers/bwrap.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const POOLED = {};
const UNPOOLED = { poolSize: 0 };
const PAUSE_MS = 100;
const LONG_PAUSE_MS = 2_000;

/** A new session and its first cell, against a new process per cell. */
export const newSession = {
  key: "new_session_vs_bwrap_pickle",
  target: { at_least: 30 },
  async run({ runtime, count, observe, use }) {
    const cells = use(new PickleCells());
    observe(await warm(runtime, POOLED));
    const samples = await interleave(
      {
        pooled: () => timeSession(runtime, POOLED),
        pickled: () => time(() => runPickled(cells)),
      },
      { rounds: count(100, 5), pause: PAUSE_MS },
    );
    await warm(runtime, UNPOOLED);
    const { demanded } = await interleave(
      { demanded: () => timeSession(runtime, UNPOOLED) },
      { rounds: count(100, 3), pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.pickled) / median(samples.pooled),
      rows: [
        { name: "Cellar, pool full: new session + first cell", samples: samples.pooled },
        { name: "bwrap python3, pickle files in and out, no libraries", samples: samples.pickled },
        { name: "Cellar, no pool: forked on demand + first cell", samples: demanded },
      ],
    };
  },
};

/** The same for single sessions, idle in between. */
export const isolatedSession = {
  key: "new_session_isolated_vs_bwrap_pickle",
  target: { at_least: 10 },
  async run({ runtime, count, observe, use }) {
    const cells = use(new PickleCells());
    observe(await warm(runtime, POOLED));
    const rounds = count(20, 2);
    const { pooled } = await interleave(
      { pooled: () => timeSession(runtime, POOLED) },
      { rounds, pause: LONG_PAUSE_MS },
    );
    const { pickled } = await interleave(
      { pickled: () => time(() => runPickled(cells)) },
      { rounds, pause: LONG_PAUSE_MS },
    );
    return {
      ratio: median(pickled) / median(pooled),
      rows: [
        { name: "Cellar, 2 s apart: new session + first cell", samples: pooled },
        { name: "bwrap python3, 2 s apart, pickle files", samples: pickled },
      ],
    };
  },
};

async function timeSession(runtime, config) {
  let sandbox;
  const taken = await time(async () => {
    sandbox = await open(runtime, config);
    await runTrivial(sandbox);
  });
  await sandbox.destroy();
  return taken;
}

async function runPickled(cells) {
  const printed = await cells.run(TRIVIAL);
  if (printed !== TRIVIAL_OUTPUT) throw new Error(`the peer printed ${JSON.stringify(printed)}`);
}
