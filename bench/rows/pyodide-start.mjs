import { PlainPyodide } from "../peers/plain-pyodide.mjs";
import { PyodideHouse } from "../pyodide.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const PAUSE_MS = 300;

/** A sandbox from start to ready, against `loadPyodide()` in an unsandboxed Node process. */
export const pyodideStart = {
  key: "pyodide_start_vs_plain",
  target: { at_least: 7 },
  async run({ count, use }) {
    const house = use(await PyodideHouse.open());
    const samples = await interleave(
      {
        cellar: () => timeStart(() => house.create()),
        plain: () => timeStart(() => house.createPlain()),
        bare: () => timeStart(() => PlainPyodide.start()),
      },
      { rounds: count(9, 2), warmups: 1, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.bare) / median(samples.cellar),
      rows: [
        {
          name: "Cellar, no spare: Pyodide sandbox ready from its snapshot",
          samples: samples.cellar,
        },
        { name: "plain loadPyodide() in node, without runner and wall", samples: samples.bare },
        { name: "Cellar's sandbox, no spare, with a plain loadPyodide()", samples: samples.plain },
      ],
    };
  },
};

async function timeStart(start) {
  let started;
  const taken = await time(async () => {
    started = await start();
  });
  await started[Symbol.asyncDispose]();
  return taken;
}
