import { existsSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PyodideRuntime } from "../../src/backends/pyodide/runtime.js";
import type { CodeExecution, ISandbox } from "../../src/index.js";
import { meets } from "../../src/isolation/levels.js";
import { SECRET } from "./arena.js";
import { expectNextCell } from "./attack.js";
import { readCells } from "./campaign.js";
import { Grounds } from "./grounds.js";

/** Cells about built-ins and stores that a sandbox alone does not have. */
const ELSEWHERE = /^(brg-|prot-1[1-4]$|prot-18$)/;

const CONFIG = { timeout: 5_000, grace: 500, limits: { memoryMb: 256 }, spares: 1 } as const;

/** Words that a cell prints only when it reached what it was after. */
const GAINS = ["PWNED", SECRET, "root:", "uid=0"];

const grounds = new Grounds();
const cells = readCells("cells.json").filter(({ id }) => !ELSEWHERE.test(id));

/** Cells that succeed in WebAssembly's own world, which only looks like a system. */
const IMITATED: Readonly<Record<string, string>> = {
  "fs-w-02": "the file lies in the memory of the session, which has a root of its own",
  "fs-w-05": "the same, for /proc is an ordinary folder there",
  "net-04": "names are given numbers without asking anybody",
  "iso-02": "every pid but the own one is answered with EPERM, whether it is there or not",
};

/** What must come of it, beside nothing being gained, for those made for Pyodide. */
const EXPECTED: Readonly<Record<string, (run: CodeExecution) => void>> = {
  "pyo-01": () => expect(existsSync("/tmp/PWNED_PYO")).toBe(false),
  "pyo-03": (run) => expect(run.error).not.toBeNull(),
  "pyo-04": (run) => expect(run.error).not.toBeNull(),
  "pyo-06": (run) => expect(run.error).not.toBeNull(),
  "pyo-07": (run) => expect(run.stdout).not.toContain(String(process.pid)),
  "pyo-09": (run) => expect(run.error).not.toBeNull(),
  "pyo-10": (run) => expect(run.status).toMatch(/^(error|crashed)$/),
  "pyo-12": (run) => expect(run.status).toBe("oom"),
  "pyo-13": (run) => expect(run.error).not.toBeNull(),
};

let runtime: PyodideRuntime | undefined;

beforeAll(() => {
  runtime = new PyodideRuntime();
});

afterAll(() => runtime?.[Symbol.asyncDispose]());

async function open(): Promise<ISandbox> {
  if (runtime === undefined) throw new Error("the runtime is not open");
  return runtime.createSandbox(CONFIG);
}

describe("every hostile cell in a jailed Pyodide", () => {
  grounds.keepNeighbour();
  const before = new Set(readdirSync("/tmp"));

  for (const category of new Set(cells.map((cell) => cell.category))) {
    describe(category, () => {
      let sandbox: ISandbox | undefined;

      afterAll(() => sandbox?.destroy());

      for (const { id, code } of cells.filter((cell) => cell.category === category)) {
        it(id, async () => {
          sandbox ??= await open();
          expect(meets(sandbox.info.isolation.level, "L3-")).toBe(true);
          for (const part of code.split(/^#%%\n/m)) {
            const run = await sandbox.execute(part);
            const said = JSON.stringify([run.stdout, run.stderr, run.result]);
            const gained = GAINS.filter((gain) => said.includes(gain));
            expect(gained, said.slice(0, 500)).toEqual(id in IMITATED ? ["PWNED"] : []);
            EXPECTED[id]?.(run);
          }
          await expectNextCell(sandbox);
          expect(grounds.arena.connections).toBe(0);
        });
      }
    });
  }

  it("left nothing on the host", () => {
    expect(existsSync("/evil")).toBe(false);
    const planted = readdirSync("/tmp").filter((name) => !before.has(name) && /PWN/i.test(name));
    expect(planted).toEqual([]);
  });
});
