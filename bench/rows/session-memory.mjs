import { setTimeout as rest } from "node:timers/promises";
import { open, openRuntime, run, warm } from "../cellar.mjs";
import { processTree, proportionalMemory } from "../process-tree.mjs";
import { median } from "../statistics.mjs";

/** Without a pool, so that only the sessions that are counted come and go. */
const CONFIG = { poolSize: 0 };
const SESSIONS = 20;
const SETTLE_MS = 500;
const FRAME = `import gc
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
frame = pd.DataFrame({"k": rng.integers(0, 100, 100_000), "v": rng.random(100_000)})
means = frame.groupby("k").v.mean()`;
const COLLECT = "gc.collect()\nNone";

/** The memory of one more session, including its checkpoints. */
export const sessionMemory = {
  key: "session_mb",
  target: { at_most: 15 },
  async run({ count, observe }) {
    const rounds = [];
    for (let round = 0; round < count(3, 1); round += 1) rounds.push(await measure(observe));
    const samples = (pick) => rounds.map(pick);
    const sum = samples(({ inOneCell }) => inOneCell.megabytes);
    return {
      ratio: median(sum),
      rows: [
        {
          name: "Cellar, no pool: a session after a groupby, gc.collect()",
          unit: "MB",
          samples: sum,
          note: note(rounds[0].inOneCell),
        },
        {
          name: "Cellar, no pool: the same after one more gc.collect() cell",
          unit: "MB",
          samples: samples(({ afterAnother }) => afterAnother.megabytes),
          note: note(rounds[0].afterAnother),
        },
        {
          name: "Cellar, no pool: the zygote before",
          unit: "MB",
          samples: samples(({ before }) => before.megabytes),
        },
      ],
    };
  },
};

/** With a new zygote each time, because its heap layout differs from start to start. */
async function measure(observe) {
  const runtime = openRuntime();
  try {
    return await measureIn(runtime, observe);
  } finally {
    await runtime[Symbol.asyncDispose]();
  }
}

async function measureIn(runtime, observe) {
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
  const inOneCell = perSession(before, await settled(zygote.pid));
  for (const sandbox of sandboxes) {
    await run(sandbox, COLLECT);
    await sandbox.checkpoints();
  }
  return { before, inOneCell, afterAnother: perSession(before, await settled(zygote.pid)) };
}

async function settled(pid) {
  await rest(SETTLE_MS);
  return look(pid);
}

function look(pid) {
  const pids = processTree(pid);
  return { processes: pids.length, ...proportionalMemory(pids) };
}

function perSession(before, { megabytes, processes, unreadable }) {
  return {
    megabytes: (megabytes - before.megabytes) / SESSIONS,
    processes: (processes - before.processes) / SESSIONS,
    hidden:
      unreadable > 0
        ? `; ${unreadable} of ${processes} processes could not be read and are left out`
        : "",
  };
}

function note({ processes, hidden }) {
  return `PSS of the whole tree over ${SESSIONS} sessions of ${processes} processes each${hidden}`;
}
