import { open, TRIVIAL, warm } from "../cellar.mjs";
import { timeCells, timeCellsFor } from "../cells.mjs";
import { IpykernelPeer } from "../peers/ipykernel.mjs";
import { Meter } from "../processor-time.mjs";
import { median, percentile } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

/** What users get who set nothing. */
const DEFAULTS = {};
const KERNEL_BATCH = 200;
const WARMUPS = 6;
const SPACED_BATCH = 10;
const SPACED_WARMUPS = 2;
const GAP_MS = 50;
const PAUSE_MS = 50;

/** A trivial cell as users run it, back to back, against a Jupyter kernel. */
export const defaultCell = {
  key: "default_cell_vs_ipykernel",
  target: { at_least: 10 },
  async run({ runtime, count, observe, account, use }) {
    const { sandbox, sessions } = await openDefault({ runtime, observe, account, use });
    const meter = new Meter(sessions);
    const kernel = use(await IpykernelPeer.start(sandbox.info.python.executable, TRIVIAL));
    const warmups = count(WARMUPS, 1);
    const batch = count(500, 150);
    const samples = await interleave(
      {
        cellar: () => meter.around(() => timeCellsFor(sandbox, batch)),
        kernel: () => kernel.time(KERNEL_BATCH),
      },
      { rounds: count(8, 2), warmups, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.kernel) / median(samples.cellar),
      rows: [
        {
          name: "Cellar, everything default, back to back (client: Node)",
          samples: samples.cellar,
          cpu: meter.cpu(warmups),
        },
        {
          name: "ipykernel, back to back (client: Python)",
          samples: samples.kernel,
          note: `${kernel.versions}; timed in its Python client, history off`,
        },
      ],
    };
  },
};

/** The same at the pace of an agent. */
export const spacedCell = {
  key: "default_cell_spaced_vs_ipykernel",
  target: { at_least: 4 },
  async run({ runtime, count, observe, account, use }) {
    const { sandbox, sessions } = await openDefault({ runtime, observe, account, use });
    const meter = new Meter(sessions);
    const kernel = use(await IpykernelPeer.start(sandbox.info.python.executable, TRIVIAL));
    const warmups = count(SPACED_WARMUPS, 1);
    const samples = await interleave(
      {
        cellar: () => meter.around(() => timeCells(sandbox, SPACED_BATCH, GAP_MS)),
        kernel: () => kernel.time(SPACED_BATCH, GAP_MS),
      },
      { rounds: count(20, 1), warmups, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.kernel) / median(samples.cellar),
      rows: [
        {
          name: "Cellar, everything default, 50 ms apart (client: Node)",
          samples: samples.cellar,
          cpu: meter.cpu(warmups),
        },
        { name: "ipykernel, 50 ms apart (client: Python)", samples: samples.kernel },
      ],
    };
  },
};

/** How much longer a cell may take than it usually does. */
export const defaultCellTail = {
  key: "default_cell_p99_vs_median",
  target: { at_most: 6 },
  async run({ runtime, count, observe, account, use }) {
    const { sandbox, sessions } = await openDefault({ runtime, observe, account, use });
    const off = use(await open(runtime, { ...DEFAULTS, checkpoints: "off" }));
    const meters = { cellar: new Meter(sessions), off: new Meter(sessions) };
    const warmups = count(3, 1);
    const batch = count(1000, 300);
    const samples = await interleave(
      {
        cellar: () => meters.cellar.around(() => timeCellsFor(sandbox, batch)),
        off: () => meters.off.around(() => timeCellsFor(off, batch)),
      },
      { rounds: count(8, 1), warmups, pause: PAUSE_MS },
    );
    const tail = (times) => percentile(times, 0.99) / median(times);
    return {
      ratio: tail(samples.cellar),
      rows: [
        {
          name: "Cellar, everything default, back to back",
          samples: samples.cellar,
          cpu: meters.cellar.cpu(warmups),
        },
        {
          name: "Cellar, checkpoints off, back to back",
          samples: samples.off,
          cpu: meters.off.cpu(warmups),
          note: `its 99th percentile is ${tail(samples.off).toFixed(1)} times its median`,
        },
      ],
    };
  },
};

async function openDefault({ runtime, observe, account, use }) {
  const sandbox = use(await open(runtime, DEFAULTS));
  const zygote = await warm(runtime, DEFAULTS);
  observe(zygote);
  return { sandbox, sessions: account(zygote) };
}
