import { existsSync, readdirSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import type { CodeExecution, ISandbox } from "../../src/index.js";
import { meets } from "../../src/isolation/levels.js";
import { expectNextCell } from "./attack.js";
import type { AttackFixture } from "./attack-fixture.js";
import { SECRET } from "./attack-runner.js";
import { type HostileCell, readCells } from "./campaign.js";

/** Cells about built-ins and stores that a sandbox alone does not have. */
const ELSEWHERE = /^(brg-|prot-1[1-4]$|prot-18$)/;

/** Words that a cell prints only when it reached what it was after. */
const GAINS = ["PWNED", SECRET, "root:", "uid=0"];

export interface Sweep {
  readonly name: string;
  readonly fixture: AttackFixture;
  open(): Promise<ISandbox>;
  /** Whether a cell says anything about this backend. */
  applies?(cell: HostileCell): boolean;
  /** Cells that succeed in a world that only looks like a system, by what they reach there. */
  readonly imitated?: Readonly<Record<string, string>>;
  /** What must come of a cell, beside nothing being gained. */
  readonly expected?: Readonly<Record<string, (run: CodeExecution) => void>>;
}

/** Every hostile cell in another backend: nothing is gained, and the next cell runs. */
export function sweep({ name, fixture, open, applies, imitated = {}, expected = {} }: Sweep): void {
  const cells = readCells("cells.json").filter(
    (cell) => !ELSEWHERE.test(cell.id) && (applies?.(cell) ?? true),
  );

  describe(`every hostile cell ${name}`, () => {
    fixture.keepNeighbour();
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
              expect(gained, said.slice(0, 500)).toEqual(id in imitated ? ["PWNED"] : []);
              expected[id]?.(run);
            }
            await expectNextCell(sandbox);
            expect(fixture.runner.connections).toBe(0);
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
}
