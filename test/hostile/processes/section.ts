import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ISandbox, REPLConfig } from "../../../src/index.js";
import type { AttackFixture } from "../attack-fixture.js";
import { type ProcessExpectation, trial } from "./trial.js";

const cellSchema = z.strictObject({
  id: z.string(),
  /** The process of ours that it is aimed at. */
  process: z.string(),
  code: z.string(),
  /** How it would be seen that the cell got what it is after. */
  reached: z.string(),
});
export type ProcessCell = z.infer<typeof cellSchema>;

export function readSection(name: string): readonly ProcessCell[] {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  return z.array(cellSchema).parse(JSON.parse(text));
}

export interface Section {
  readonly file: string;
  readonly expectations: Readonly<Record<string, ProcessExpectation>>;
  readonly fixture: AttackFixture;
  readonly open?: (config: REPLConfig) => Promise<ISandbox>;
  readonly root?: () => number | undefined;
  /** Where sessions do not belong to the runner, its processes are not counted. */
  readonly isElsewhere?: boolean;
  /** Cells that mostly wait run beside each other. */
  readonly isConcurrent?: boolean;
}

const LIMIT_MS = 240_000;

/** A test for each cell of a section; the session beside it is asked after each, the host after all. */
export function section({ file, expectations, fixture, open, root, ...how }: Section): void {
  const cells = readSection(file);
  expectPairs(cells, expectations);
  const group = how.isConcurrent === true ? describe.concurrent : describe;
  group(`cells aimed at the ${cells[0]?.process}`, () => {
    if (how.isElsewhere !== true) fixture.keepHost();
    fixture.keepNeighbour();
    for (const { id, code } of cells) {
      it(id, { timeout: LIMIT_MS }, async () => {
        await trial({
          code,
          expectation: expectationOf(expectations, id),
          open: open ?? ((config) => fixture.runner.sandbox(config)),
          root: root?.(),
        });
      });
    }
  });
}

export function expectPairs(cells: readonly ProcessCell[], expectations: object): void {
  it("has an expectation for every cell, and a cell for every expectation", () => {
    expect(Object.keys(expectations).sort()).toEqual(cells.map(({ id }) => id).sort());
  });
}

export function expectationOf<T>(expectations: Readonly<Record<string, T>>, id: string): T {
  const expectation = expectations[id];
  if (expectation === undefined) throw new Error(`no expectation for ${id}`);
  return expectation;
}
