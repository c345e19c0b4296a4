import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { attack } from "./attack.js";
import type { AttackFixture } from "./attack-fixture.js";
import type { Expectation } from "./expectations.js";

const cellSchema = z.array(z.object({ id: z.string(), category: z.string(), code: z.string() }));
export type HostileCell = z.infer<typeof cellSchema>[number];

export function readCells(name: string): readonly HostileCell[] {
  return cellSchema.parse(JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8")));
}

/** Declares a test for each cell; after each group the host must be as healthy as before. */
export function campaign(
  cells: readonly HostileCell[],
  expectations: Readonly<Record<string, Expectation>>,
  fixture: AttackFixture,
): void {
  it("has an expectation for every cell, and a cell for every expectation", () => {
    expect(Object.keys(expectations).sort()).toEqual(cells.map(({ id }) => id).sort());
  });

  for (const category of new Set(cells.map((cell) => cell.category))) {
    describe(category, () => {
      fixture.keepHost();
      fixture.keepNeighbour();

      for (const { id, code } of cells.filter((cell) => cell.category === category)) {
        it(id, async () => {
          const expectation = expectations[id];
          if (expectation === undefined) throw new Error(`no expectation for ${id}`);
          await attack(fixture.runner, code, expectation);
        });
      }
    });
  }
}
