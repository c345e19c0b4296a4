import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { Notebook } from "../../src/index.js";
import { descendants } from "../hostile/attack-runner.js";
import { LoopWatch } from "../hostile/loop-watch.js";
import { NotebookFixture, shown } from "../support/notebook/notebook-fixture.js";

const NOTEBOOKS = 100;
const PATIENCE_MS = 600_000;
/** Of processor time, without a look at anything else: far more than it takes. */
const STALL_MS = 3_000;
const GROWTH_BYTES = 512 * 1024 * 1024;

describe("a hundred notebooks at once", () => {
  const fixture = new NotebookFixture();
  const all = [...Array(NOTEBOOKS).keys()];
  const names = (n: number) => ({
    user: `user${n % 10}`,
    session: `crowd${n}`,
    timeout: PATIENCE_MS,
  });
  const openAll = () => Promise.all(all.map((n) => fixture.open(names(n))));
  const closeAll = (notebooks: readonly Notebook[]) =>
    Promise.all(notebooks.map((notebook) => notebook.close()));
  /** Closing waits for a snapshot too, but not as long as a hundred may take on a busy machine. */
  const keptAll = (notebooks: readonly Notebook[]) =>
    vi.waitFor(
      () => {
        const kept = notebooks.map(({ state }) => state.snapshot?.sequence);
        expect(kept).toEqual(notebooks.map(({ state }) => state.present));
      },
      { timeout: PATIENCE_MS, interval: 50 },
    );

  it(
    "run beside each other without a mix-up, and leave nothing behind",
    async () => {
      const warm = await fixture.open();
      await warm.run("1");
      await warm.close();
      const before = await atRest();
      const memory = process.memoryUsage().rss;
      using loop = new LoopWatch();

      const notebooks = await openAll();
      const cells = await Promise.all(
        all.flatMap((n) => {
          const nb = notebooks[n] as Notebook;
          return [
            nb.run(`mine = ${n}\nopen('mine', 'w').write(str(mine))`),
            nb.run("mine += 1000"),
            nb.run("import os\n(mine, os.listdir('.'), open('mine').read())"),
          ];
        }),
      );
      expect(cells.map(({ state }) => state)).toEqual(cells.map(() => "COMPLETED"));
      const third = cells.filter((_, at) => at % 3 === 2);
      expect(third.map(shown)).toEqual(all.map((n) => `(${n + 1000}, ['mine'], '${n}')`));
      expect(third.map(({ number }) => number)).toEqual(all.map(() => 3));
      await keptAll(notebooks);
      await closeAll(notebooks);

      expect(loop.worst).toBeLessThan(STALL_MS);
      expect(process.memoryUsage().rss - memory).toBeLessThan(GROWTH_BYTES);
      const after = await atRest(before);
      expect(after.processes).toBeLessThanOrEqual(before.processes);
      expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
      expect(filesBelow(fixture.dir, /^(temp-|state$|egress|damaged-)/)).toEqual([]);

      const again = await openAll();
      expect(again.map(({ state }) => [state.restored, ...state.ranAfter])).toEqual(
        all.map(() => [3]),
      );
      const values = await Promise.all(again.map((nb) => nb.run("mine")));
      expect(values.map(shown)).toEqual(all.map((n) => `${n + 1000}`));
      await closeAll(again);
    },
    PATIENCE_MS,
  );

  it(
    "go with all that they had when they are removed",
    async () => {
      const notebooks = await Notebook.list({ dir: fixture.dir });
      expect(notebooks.length).toBeGreaterThan(NOTEBOOKS);
      await Promise.all(notebooks.map((one) => Notebook.remove({ dir: fixture.dir, ...one })));
      expect(await Notebook.list({ dir: fixture.dir })).toEqual([]);
      const rooms = readdirSync(join(fixture.dir, "rooms"));
      // A spare one waits for the next session.
      expect(rooms.filter((name) => !name.startsWith("spare-"))).toEqual([]);
      expect(filesBelow(join(fixture.dir, "notebooks"), /./)).toEqual([]);
    },
    PATIENCE_MS,
  );
});

interface Holdings {
  readonly processes: number;
  readonly descriptors: number;
}

/** What this process holds when nothing is ending any more, or no more than it did. */
async function atRest(wanted?: Holdings): Promise<Holdings> {
  let last = holdings();
  for (let tries = 0, steady = 0; tries < 2_000 && steady < 5; tries += 1) {
    await sleep(50);
    const now = holdings();
    const isSame = now.processes === last.processes && now.descriptors === last.descriptors;
    const isMore =
      wanted !== undefined &&
      (now.processes > wanted.processes || now.descriptors > wanted.descriptors);
    steady = isSame && !isMore ? steady + 1 : 0;
    last = now;
  }
  return last;
}

function holdings(): Holdings {
  return {
    processes: descendants().length,
    descriptors: readdirSync("/proc/self/fd").length,
  };
}

/** Files whose names look like this, wherever they are. */
function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ name }) => name);
}
