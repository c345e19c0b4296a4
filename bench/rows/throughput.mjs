import { open, warm } from "../cellar.mjs";
import { timeCellsFor } from "../cells.mjs";
import { Meter } from "../processor-time.mjs";
import { median } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const SESSIONS = 4;
const PAUSE_MS = 50;

/** What checkpoints take from busy sessions that share the processors. */
export const throughput = {
  key: "default_throughput_vs_off",
  target: { at_least: 0.7 },
  async run({ runtime, count, observe, account, use }) {
    const openAll = async (config) => {
      const sandboxes = [];
      for (let n = 0; n < SESSIONS; n += 1) sandboxes.push(use(await open(runtime, config)));
      return sandboxes;
    };
    const groups = { kept: await openAll({}), off: await openAll({ checkpoints: "off" }) };
    const zygote = await warm(runtime, {});
    observe(zygote);
    const sessions = account(zygote);
    const warmups = count(3, 1);
    const batch = count(700, 300);
    const contender = (sandboxes) => {
      const meter = new Meter(sessions);
      return { meter, run: () => rateOf(sandboxes, meter, batch) };
    };
    const [kept, off] = [contender(groups.kept), contender(groups.off)];
    const samples = await interleave(
      { kept: kept.run, off: off.run },
      { rounds: count(12, 2), warmups, pause: PAUSE_MS },
    );
    const row = (name, of, { meter }) => ({
      name: `Cellar, ${SESSIONS} sessions at once, ${name}`,
      unit: "cells/s",
      samples: of,
      cpu: meter.cpu(warmups),
    });
    return {
      ratio: median(samples.kept) / median(samples.off),
      rows: [
        row("everything default", samples.kept, kept),
        row("checkpoints off", samples.off, off),
      ],
    };
  },
};

/** Cells a second of all sessions together. */
async function rateOf(sandboxes, meter, batch) {
  let seconds;
  const times = await meter.around(async () => {
    const began = performance.now();
    const all = await Promise.all(sandboxes.map((sandbox) => timeCellsFor(sandbox, batch)));
    seconds = (performance.now() - began) / 1000;
    return all.flat();
  });
  return times.length / seconds;
}
