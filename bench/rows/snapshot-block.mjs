import { setTimeout as rest } from "node:timers/promises";
import { open, run, runTrivial } from "../cellar.mjs";
import { CHECK, needMemory, PAYLOAD, PAYLOAD_NAME } from "../payload.mjs";
import { SeedCodecPeer } from "../peers/seed-codec.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const MOST_BYTES = 1 << 30;
const PAUSE_MS = 300;
/** Long enough for the previous checkpoint, which is not part of the snapshot. */
const APART_MS = 50;
const MOST_CELLS = 20;
const ALONE_CELLS = 5;

/** How long cells wait for a large snapshot. For Cellar, the whole duration of cells during it. */
export const snapshotBlock = {
  key: "snapshot_block_vs_seed_codec",
  target: { at_least: 100 },
  async run({ runtime, count, use }) {
    needMemory();
    const sandbox = use(await open(runtime, {}));
    await run(sandbox, PAYLOAD);
    const peer = use(await SeedCodecPeer.start(sandbox.info.python.executable, PAYLOAD));
    const whole = [];
    const samples = await interleave(
      {
        during: () => cellsDuring(sandbox, whole),
        alone: () => cellsAlone(sandbox),
        peer: () => peer.write(),
      },
      { rounds: count(15, 3), warmups: 2, pause: PAUSE_MS },
    );
    await run(sandbox, CHECK);
    return {
      ratio: median(samples.peer) / median(samples.during),
      rows: [
        {
          name: "Cellar, cells while a snapshot is taken",
          samples: samples.during,
          note: `${PAYLOAD_NAME}; every cell starts and ends while the snapshot is taken`,
        },
        { name: "Cellar, the same cells alone", samples: samples.alone },
        { name: "Cellar, the snapshot in the background", samples: whole.slice(2) },
        { name: "cloudpickle, lz4 and base64, blocking", samples: samples.peer },
      ],
    };
  },
};

/** Runs cells until the snapshot is done. */
async function cellsDuring(sandbox, whole) {
  await runTrivial(sandbox);
  await rest(APART_MS);
  let bytes = 0;
  let isOver = false;
  const began = performance.now();
  const snapshot = sandbox
    .capture(
      () => async (piece) => {
        bytes += piece.length;
      },
      { maxBytes: MOST_BYTES },
    )
    .finally(() => {
      isOver = true;
    });
  const times = [];
  while (!isOver && times.length < MOST_CELLS) {
    const taken = await time(() => runTrivial(sandbox));
    if (!isOver) times.push(taken);
    await rest(APART_MS);
  }
  const { manifest } = await snapshot;
  whole.push(performance.now() - began);
  const isKept = manifest.variables.some(({ name, kept }) => name === "data" && kept);
  if (!isKept || bytes < 1_000_000) throw new Error(`the snapshot has ${bytes} bytes`);
  if (times.length === 0) throw new Error("the snapshot ended before any cell");
  return times;
}

/** The same without a snapshot. */
async function cellsAlone(sandbox) {
  await runTrivial(sandbox);
  const times = [];
  for (let cell = 0; cell < ALONE_CELLS; cell += 1) {
    await rest(APART_MS);
    times.push(await time(() => runTrivial(sandbox)));
  }
  return times;
}
