import { open, runTrivial, TRIVIAL, warm } from "../cellar.mjs";
import { BwrapPeer } from "../peers/bwrap.mjs";
import { Meter } from "../processor-time.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

/** As an agent's steps are, and long enough that nothing is warm any more. */
const PAUSE_MS = 2_000;
/** Until the pool is full again. */
const SETTLE_MS = 300;

/** A session from beginning to end, against a new process behind one wall. */
export const sessionCycle = {
  key: "session_cycle_vs_bwrap_python",
  target: { at_least: 10 },
  async run({ runtime, count, observe, account }) {
    const peer = new BwrapPeer();
    const zygote = await warm(runtime, {});
    observe(zygote);
    const sessions = account(zygote);
    const meter = new Meter(sessions, { settle: SETTLE_MS });
    const warmups = count(1, 0);
    const parts = { opened: [], ended: [] };
    const samples = await interleave(
      {
        cellar: () => meter.around(async () => [await time(() => cycle(runtime, parts))]),
        bwrap: () => time(() => peer.run([], ["-c", TRIVIAL])),
      },
      { rounds: count(7, 2), warmups, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.bwrap) / median(samples.cellar),
      rows: [
        {
          name: "Cellar, 2 s apart: create, one cell, destroy",
          samples: samples.cellar,
          cpu: sessions.isComplete ? meter.cpu(warmups) : undefined,
          note: "its processor time includes the pool's next session",
        },
        { name: "Cellar, of this create and cell", samples: parts.opened.slice(warmups) },
        { name: "Cellar, of this destroy()", samples: parts.ended.slice(warmups) },
        { name: `bwrap python3 -c "${TRIVIAL}", 2 s apart`, samples: samples.bwrap },
      ],
    };
  },
};

async function cycle(runtime, { opened, ended }) {
  let sandbox;
  opened.push(
    await time(async () => {
      sandbox = await open(runtime, {});
      await runTrivial(sandbox);
    }),
  );
  ended.push(await time(() => sandbox.destroy()));
}
