import { setTimeout as rest } from "node:timers/promises";
import { run } from "../cellar.mjs";
import { PlainPyodide } from "../peers/plain-pyodide.mjs";
import { PyodideHouse } from "../pyodide.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const LOOP = "s = 0\nfor i in range(1_000_000): s += i * i";
/** How long a spare waits before it is handed out. */
const WAITED_MS = 1000;
const PAUSE_MS = 300;

/** The first loop of a session: new code runs slowly until the engine has compiled it. */
export const pyodideLoop = {
  key: "pyodide_loop_vs_plain",
  target: { at_most: 1.2 },
  async run({ count, use }) {
    const house = use(await PyodideHouse.open());
    const samples = await interleave(
      {
        spare: () => loopInSpare(house),
        atOnce: () => house.create().then(loopOnce),
        plain: loopInPlain,
      },
      { rounds: count(7, 2), warmups: 1, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.spare) / median(samples.plain),
      rows: [
        { name: "Cellar, first loop in a session from the warm spare", samples: samples.spare },
        {
          name: "Cellar, no spare: first loop in a newly started session",
          samples: samples.atOnce,
        },
        { name: "first loop after a plain loadPyodide()", samples: samples.plain },
      ],
    };
  },
};

async function loopInSpare(house) {
  await house.runtime.warm({ minIsolation: "L0", spares: 1 });
  await rest(WAITED_MS);
  return loopOnce(await house.create({ spares: 1 }));
}

async function loopOnce(sandbox) {
  try {
    return await time(() => run(sandbox, LOOP));
  } finally {
    await sandbox.destroy();
  }
}

async function loopInPlain() {
  const pyodide = await PlainPyodide.start();
  try {
    return await pyodide.run(LOOP);
  } finally {
    await pyodide[Symbol.asyncDispose]();
  }
}
