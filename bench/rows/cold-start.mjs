import { open, openRuntime, runTrivial } from "../cellar.mjs";
import { interleave, time } from "../stopwatch.mjs";

const PAUSE_MS = 200;

/** From a cold start to the first result: zygote, probes of the walls, session, cell. */
export const coldStart = {
  key: "cold_start",
  async run({ count }) {
    const samples = await interleave(
      {
        none: () => timeStart("none"),
        standard: () => timeStart("standard"),
        full: () => timeStart("full"),
      },
      { rounds: count(3, 1), warmups: 0, pause: PAUSE_MS },
    );
    return {
      rows: Object.entries(samples).map(([preload, times]) => ({
        name: `Cellar, cold start + first cell, preload ${preload}`,
        samples: times,
      })),
    };
  },
};

async function timeStart(preload) {
  const runtime = openRuntime();
  try {
    return await time(async () => {
      await runTrivial(await open(runtime, { preload }));
    });
  } finally {
    await runtime[Symbol.asyncDispose]();
  }
}
