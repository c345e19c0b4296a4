import { setTimeout as rest } from "node:timers/promises";
import { open, runTrivial, warm } from "../cellar.mjs";
import { BwrapPeer } from "../peers/bwrap.mjs";
import { median, percentile } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const UNPOOLED = { poolSize: 0 };
const SESSIONS = 64;
const REST_MS = 1500;

/** Many sessions at once, with an empty pool. */
export const burst = {
  key: "burst_64_p95_vs_bwrap_python",
  target: { at_least: 1 },
  async run({ runtime, count, observe }) {
    const peer = new BwrapPeer();
    observe(await warm(runtime, UNPOOLED));
    const samples = await interleave(
      { ours: () => burstOfSessions(runtime), peers: () => atOnce(() => peer.runBare()) },
      { rounds: count(6, 1), warmups: count(1, 0), pause: REST_MS },
    );
    return {
      ratio: typicalP95(samples.peers) / typicalP95(samples.ours),
      rows: [
        {
          name: "Cellar, no pool: 64 x (new session + first cell)",
          samples: samples.ours,
          note: "the ratio compares the median of the rounds' p95",
        },
        { name: "bwrap python3 -c pass, 64 at once", samples: samples.peers },
      ],
    };
  },
};

function typicalP95(samples) {
  const rounds = Array.from({ length: samples.length / SESSIONS }, (_, round) =>
    samples.slice(round * SESSIONS, (round + 1) * SESSIONS),
  );
  return median(rounds.map((times) => percentile(times, 0.95)));
}

/** Completion times, from the moment at which all were requested. */
async function atOnce(work) {
  const started = performance.now();
  const finish = async () => {
    await work();
    return performance.now() - started;
  };
  return Promise.all(Array.from({ length: SESSIONS }, finish));
}

async function burstOfSessions(runtime) {
  const sandboxes = [];
  const times = await atOnce(async () => {
    const sandbox = await open(runtime, UNPOOLED);
    sandboxes.push(sandbox);
    await runTrivial(sandbox);
  });
  await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  await rest(REST_MS);
  return times;
}
