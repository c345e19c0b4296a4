import { open, TRIVIAL, warm } from "../cellar.mjs";
import { timeCells } from "../cells.mjs";
import { IpykernelPeer } from "../peers/ipykernel.mjs";
import { Meter } from "../processor-time.mjs";
import { median } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

/** The fastest a cell can be; `default_cell_vs_ipykernel` has what users get. */
const LIVE = { checkpoints: "off" };
const BATCH = 200;
const PAUSE_MS = 50;

/** A trivial cell in a live session, back to back, against a Jupyter kernel. */
export const liveCell = {
  key: "live_cell_vs_ipykernel",
  target: { at_least: 12 },
  async run({ runtime, count, observe, account, use }) {
    const sandbox = use(await open(runtime, LIVE));
    const zygote = await warm(runtime, LIVE);
    observe(zygote);
    const meter = new Meter(account(zygote));
    const kernel = use(await IpykernelPeer.start(sandbox.info.python.executable, TRIVIAL));
    const warmups = count(10, 1);
    const samples = await interleave(
      {
        live: () => meter.around(() => timeCells(sandbox, BATCH)),
        kernel: () => kernel.time(BATCH),
      },
      { rounds: count(5, 2), warmups, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.kernel) / median(samples.live),
      rows: [
        {
          name: "Cellar, live cell, checkpoints off (client: Node)",
          samples: samples.live,
          cpu: meter.cpu(warmups),
        },
        {
          name: "ipykernel, send to execute_reply (client: Python)",
          samples: samples.kernel,
          note: `${kernel.versions}; timed in its Python client, history off`,
        },
      ],
    };
  },
};
