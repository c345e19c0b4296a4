import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNotebook } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const CELLS = 10;
const CODE = "import time\ntime.sleep(0.2)\nvalues = [*globals().get('values', []), 1]";
const PAUSE_MS = 200;

/** A fork of a notebook, against running its cells again. */
export const forkNotebook = {
  key: "fork_notebook_vs_replay",
  target: { at_least: 50 },
  async run({ runtime, count, use }) {
    const dir = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    use({ [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) });
    const notebook = use(await openNotebook(runtime, { dir, session: "original" }));
    await fill(notebook);
    let made = 0;
    const forks = [];
    const samples = await interleave(
      {
        fork: async () => {
          let twin;
          const taken = await time(async () => {
            twin = await notebook.fork(`fork-${made++}`);
          });
          forks.push(await time(() => check(twin)));
          await twin.close();
          return taken;
        },
        replay: async () => {
          const again = await openNotebook(runtime, { dir, session: `again-${made++}` });
          try {
            return await time(() => fill(again));
          } finally {
            await again.close();
          }
        },
      },
      { rounds: count(5, 2), warmups: 1, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.replay) / median(samples.fork),
      rows: [
        { name: "Cellar, nb.fork() after 10 cells of 0.2 s", samples: samples.fork },
        { name: "Cellar, the fork's first cell", samples: forks.slice(1) },
        { name: "Cellar, the 10 cells again in a new notebook", samples: samples.replay },
      ],
    };
  },
};

async function fill(notebook) {
  for (let cell = 0; cell < CELLS; cell += 1) await expectDone(notebook, CODE);
}

async function check(notebook) {
  const { outputs } = await expectDone(notebook, "print(len(values))");
  if (outputs[0]?.text !== `${CELLS}\n`) throw new Error("the fork has a different state");
}

async function expectDone(notebook, code) {
  const cell = await notebook.run(code);
  if (cell.state !== "COMPLETED") throw new Error(`a cell ended with ${cell.state}`);
  return cell;
}
