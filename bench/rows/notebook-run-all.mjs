import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNotebook } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const CELLS = 50;
const PAUSE_MS = 200;

/** All cells of a notebook one after another, against the same without checkpoints. */
export const notebookRunAll = {
  key: "notebook_run_all_vs_floor",
  target: { at_most: 1.5 },
  async run({ runtime, count, use }) {
    const dir = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    use({ [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) });
    let made = 0;
    const runAll = async (config) => {
      const session = `run-${made++}`;
      const notebook = await openNotebook(runtime, { dir, session, ...config });
      try {
        // Opening the session is not what is measured.
        await runCell(notebook, 0);
        return await time(async () => {
          for (let cell = 1; cell <= CELLS; cell += 1) await runCell(notebook, cell);
        });
      } finally {
        await notebook.close();
      }
    };
    const samples = await interleave(
      { kept: () => runAll({}), off: () => runAll({ checkpoints: "off" }) },
      { rounds: count(10, 2), warmups: count(2, 1), pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.kept) / median(samples.off),
      rows: [
        { name: `Cellar, ${CELLS} cells of a notebook, everything default`, samples: samples.kept },
        { name: `Cellar, ${CELLS} cells of a notebook, checkpoints off`, samples: samples.off },
      ],
    };
  },
};

async function runCell(notebook, number) {
  const { state, outputs } = await notebook.run(`x = ${number}\nprint(x)`);
  if (state !== "COMPLETED" || outputs[0]?.text !== `${number}\n`) {
    throw new Error(`a cell ended with ${state}`);
  }
}
