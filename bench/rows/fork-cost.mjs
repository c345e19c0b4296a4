import { setTimeout as rest } from "node:timers/promises";
import { open, run, runTrivial, warm } from "../cellar.mjs";
import { Meter } from "../processor-time.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const PAUSE_MS = 50;
const CELLS = 100;
const FORKS = 20;
const FEW_FORKS = 5;
/** Wall and processor time of each fork with its exit, in ms, as the process itself sees them. */
const PREPARE = `import json, os, resource, time
def used():
    own, waited_for = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + waited_for.ru_utime + waited_for.ru_stime
def fork_once():
    wall, cpu = time.perf_counter(), used()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return [1000 * (time.perf_counter() - wall), 1000 * (used() - cpu)]
def forks(count):
    print(json.dumps([fork_once() for _ in range(count)]))`;

/** The processor time of a checkpoint and its end, against a bare fork of the same process. */
export const checkpointCpu = {
  key: "checkpoint_cpu_vs_fork",
  target: { at_most: 0.3 },
  async run({ runtime, count, observe, account, use }) {
    const kept = use(await open(runtime, { checkpoints: "always" }));
    const { off, zygote } = await openOff({ runtime, observe, use });
    const sessions = account(zygote);
    const meters = {
      kept: new Meter(sessions),
      off: new Meter(sessions),
      forks: new Meter(sessions),
    };
    const warmups = count(2, 1);
    const walls = [];
    const samples = await interleave(
      {
        kept: () => meters.kept.around(() => cellsWithCheckpoints(kept)),
        off: () => meters.off.around(() => timeRun(off, runTrivial)),
        forks: () =>
          meters.forks.around(async () => {
            const times = await bareForks(off, FORKS);
            walls.push(times.map(([wall]) => wall));
            return times.map(([, cpu]) => cpu);
          }),
      },
      { rounds: count(8, 2), warmups, pause: PAUSE_MS },
    );
    const alone = meters.off.sessionTimes(warmups);
    const checkpoints = meters.kept
      .sessionTimes(warmups)
      .map((withOne, round) => withOne - alone[round]);
    return {
      ratio: Math.max(0, median(checkpoints)) / median(samples.forks),
      rows: [
        {
          name: "Cellar, processor time of a checkpoint and its end",
          samples: checkpoints,
          note: `what ${CELLS} cells with checkpoints "always" take beyond ${CELLS} with checkpoints off, by batch`,
        },
        { name: "processor time of a bare fork and exit", samples: samples.forks },
        {
          name: "os.fork(), os._exit(), waitpid() in a cell, checkpoints off",
          samples: walls.slice(warmups).flat(),
          cpu: meters.forks.cpu(warmups),
        },
        {
          name: 'Cellar, checkpoints "always", back to back',
          samples: samples.kept,
          cpu: meters.kept.cpu(warmups),
        },
        {
          name: "Cellar, checkpoints off, back to back",
          samples: samples.off,
          cpu: meters.off.cpu(warmups),
        },
      ],
    };
  },
};

/** Back to the state before a cell, and to the next result, against a bare fork of the same process. */
export const undoVsFork = {
  key: "undo_vs_fork",
  target: { at_most: 3 },
  async run({ runtime, count, observe, use }) {
    const kept = use(await open(runtime, { checkpoints: "always" }));
    const { off } = await openOff({ runtime, observe, use });
    await run(kept, "x = 0");
    const undone = [];
    const warmups = 2;
    const samples = await interleave(
      {
        undo: async () => {
          const { state } = await run(kept, "x += 1");
          if (state.checkpoint === null) throw new Error(`no checkpoint: ${state.reason}`);
          await kept.checkpoints();
          await rest(PAUSE_MS);
          const began = performance.now();
          await kept.undo();
          undone.push(performance.now() - began);
          await run(kept, "print(x)", "0\n");
          return performance.now() - began;
        },
        fork: async () => (await bareForks(off, FEW_FORKS)).map(([wall]) => wall),
      },
      { rounds: count(100, 5), warmups, pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.undo) / median(samples.fork),
      rows: [
        { name: 'Cellar, undo() to the next result, checkpoints "always"', samples: samples.undo },
        { name: "Cellar, of this undo() alone", samples: undone.slice(warmups) },
        { name: "os.fork(), os._exit(), waitpid() in a cell", samples: samples.fork },
      ],
    };
  },
};

async function openOff({ runtime, observe, use }) {
  const off = use(await open(runtime, { checkpoints: "off" }));
  const zygote = await warm(runtime, {});
  observe(zygote);
  await run(off, PREPARE);
  return { off, zygote };
}

async function bareForks(sandbox, forks) {
  const { stdout } = await run(sandbox, `forks(${forks})`);
  return JSON.parse(stdout);
}

/** Each must have got its checkpoint: others would make the rest look cheap. */
function cellsWithCheckpoints(sandbox) {
  return timeRun(sandbox, async () => {
    const { state } = await runTrivial(sandbox);
    if (state.checkpoint === null) throw new Error(`no checkpoint: ${state.reason}`);
  });
}

async function timeRun(sandbox, work) {
  const times = [];
  for (let cell = 0; cell < CELLS; cell += 1) times.push(await time(() => work(sandbox)));
  return times;
}
