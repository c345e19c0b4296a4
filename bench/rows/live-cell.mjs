import { open, runTrivial, TRIVIAL, warm } from "../cellar.mjs";
import { IpykernelPeer } from "../peers/ipykernel.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const LIVE = { preload: "full", poolSize: 4, checkpoints: "off" };
const BATCH = 200;
const PAUSE_MS = 50;

/** A trivial cell in a live session, back to back, against a Jupyter kernel. */
export const liveCell = {
  key: "live_cell_vs_ipykernel",
  target: { at_least: 12 },
  async run({ runtime, count, observe, use }) {
    observe(await warm(runtime, LIVE));
    const sandbox = use(await open(runtime, LIVE));
    const kernel = use(await IpykernelPeer.start(sandbox.info.python.executable, TRIVIAL));
    const samples = await interleave(
      { live: () => timeBatch(sandbox), kernel: () => kernel.time(BATCH) },
      { rounds: count(5, 2), warmups: count(10, 1), pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.kernel) / median(samples.live),
      rows: [
        { name: "Cellar, live cell (client: Node)", samples: samples.live },
        {
          name: "ipykernel, send to execute_reply (client: Python)",
          samples: samples.kernel,
          note: `${kernel.versions}; timed in its Python client, history off`,
        },
      ],
    };
  },
};

async function timeBatch(sandbox) {
  const times = [];
  for (let cell = 0; cell < BATCH; cell += 1) times.push(await time(() => runTrivial(sandbox)));
  return times;
}
