import { setTimeout as rest } from "node:timers/promises";
import { open, run } from "../cellar.mjs";
import { time } from "../stopwatch.mjs";

/** Long enough for the checkpoint that the default makes when a session rests. */
const PAUSE_MS = 50;
const CRASH = "import os\nx = -1\nos._exit(1)";

/** Recovery from a crash, undo and fork; the state is checked after each. */
export const rollback = {
  key: "rollback",
  async run({ runtime, count, use }) {
    const rounds = count(20, 3);
    const times = { crash: [], undo: [], fork: [], twin: [] };
    const sandbox = use(await open(runtime, {}));
    for (let round = 0; round < rounds; round += 1) {
      await run(sandbox, `x = ${round}`);
      await parked(sandbox);
      times.crash.push(await time(() => survive(sandbox)));
      await expectState(sandbox, round);
      await parked(sandbox);
      await run(sandbox, "x = -2");
      await parked(sandbox);
      times.undo.push(await time(() => sandbox.undo()));
      await expectState(sandbox, round);
      await run(sandbox, `x = ${round}`);
      await parked(sandbox);
      const started = performance.now();
      const twin = await sandbox.fork();
      times.fork.push(performance.now() - started);
      times.twin.push(await time(() => expectState(twin, round)));
      await twin.destroy();
    }
    return {
      rows: [
        {
          name: "Cellar, a cell that crashes, to its result",
          samples: times.crash,
          note: "by then the state before the cell is restored",
        },
        { name: "Cellar, undo()", samples: times.undo },
        { name: "Cellar, fork()", samples: times.fork },
        { name: "Cellar, the fork's first cell", samples: times.twin },
      ],
    };
  },
};

async function parked(sandbox) {
  await sandbox.checkpoints();
  await rest(PAUSE_MS);
}

async function survive(sandbox) {
  const { status, state } = await sandbox.execute(CRASH);
  if (status !== "crashed" || !state.survived) {
    throw new Error(`the crash ended with ${status}: ${state.reason}`);
  }
}

async function expectState(sandbox, value) {
  await run(sandbox, "print(x)", `${value}\n`);
}
