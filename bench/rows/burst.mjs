import { setTimeout as rest } from "node:timers/promises";
import { open, runTrivial, warm } from "../cellar.mjs";
import { BwrapPeer } from "../peers/bwrap.mjs";
import { median, percentile } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const UNPOOLED = { preload: "full", poolSize: 0 };
const SESSIONS = 64;
const REST_MS = 1500;

/** Many sessions at once when none is ready. */
export const burst = {
  key: "burst_64_p95_vs_bwrap_python",
  target: { at_least: 1 },
  async run({ runtime, count, observe }) {
    const peer = new BwrapPeer();
    observe(await warm(runtime, UNPOOLED));
    const rounds = { ours: [], peers: [] };
    const samples = await interleave(
      {
        ours: async () => keep(rounds.ours, await burstOfSessions(runtime)),
        peers: async () => keep(rounds.peers, await atOnce(() => peer.runBare())),
      },
      { rounds: count(6, 1), warmups: count(1, 0), pause: REST_MS },
    );
    const measured = count(6, 1);
    return {
      ratio: typicalP95(rounds.peers, measured) / typicalP95(rounds.ours, measured),
      rows: [
        {
          name: "Cellar, no pool: 64 x (new session + first cell)",
          samples: samples.ours,
          note: "the ratio is of the median over the rounds of each round's p95",
        },
        { name: "bwrap python3 -c pass, 64 at once", samples: samples.peers },
      ],
    };
  },
};

function keep(rounds, times) {
  rounds.push(times);
  return times;
}

function typicalP95(rounds, measured) {
  return median(rounds.slice(-measured).map((times) => percentile(times, 0.95)));
}

/** Completion times, counted from the one moment at which all were asked for. */
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
