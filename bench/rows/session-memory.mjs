import { setTimeout as rest } from "node:timers/promises";
import { open, openRuntime, run, warm } from "../cellar.mjs";
import { processTree, proportionalMemory } from "../process-tree.mjs";

const CONFIG = { preload: "full", poolSize: 0, checkpoints: "always" };
const SESSIONS = 20;
const SETTLE_MS = 500;
const FRAME = `import gc
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
frame = pd.DataFrame({"k": rng.integers(0, 100, 100_000), "v": rng.random(100_000)})
means = frame.groupby("k").v.mean()`;
const COLLECT = "gc.collect()\nNone";

/** What one more session costs in memory, its checkpoints included. */
export const sessionMemory = {
  key: "session_mb",
  target: { at_most: 15 },
  async run({ observe, use }) {
    const runtime = use(openRuntime());
    const zygote = await warm(runtime, CONFIG);
    observe(zygote);
    await rest(SETTLE_MS);
    const before = look(zygote.pid);
    const sandboxes = [];
    for (let session = 0; session < SESSIONS; session += 1) {
      const sandbox = await open(runtime, CONFIG);
      sandboxes.push(sandbox);
      await run(sandbox, `${FRAME}\n${COLLECT}`);
      await sandbox.checkpoints();
    }
    const inOneCell = await settled(zygote.pid);
    for (const sandbox of sandboxes) {
      await run(sandbox, COLLECT);
      await sandbox.checkpoints();
    }
    const afterAnother = await settled(zygote.pid);
    return {
      ratio: (inOneCell.megabytes - before.megabytes) / SESSIONS,
      rows: [
        perSession("Cellar, a session after a groupby and gc.collect()", before, inOneCell),
        perSession("Cellar, the same after one more gc.collect() cell", before, afterAnother),
        { name: "Cellar, the zygote before", unit: "MB", samples: [before.megabytes] },
      ],
    };
  },
};

async function settled(pid) {
  await rest(SETTLE_MS);
  return look(pid);
}

function look(pid) {
  const pids = processTree(pid);
  return { processes: pids.length, ...proportionalMemory(pids) };
}

function perSession(name, before, after) {
  const megabytes = (after.megabytes - before.megabytes) / SESSIONS;
  const processes = (after.processes - before.processes) / SESSIONS;
  const hidden =
    after.unreadable > 0
      ? `; ${after.unreadable} of ${after.processes} processes could not be read and are left out`
      : "";
  return {
    name,
    unit: "MB",
    samples: [megabytes],
    note: `PSS of the whole tree over ${SESSIONS} sessions of ${processes} processes each${hidden}`,
  };
}
