import { describe, expect, it } from "vitest";
import type { CodeExecution } from "../../backends/backend.js";
import { TABLE_MIME } from "../../notebook/cell.js";
import { outputText } from "./observation.js";
import { Renderer } from "./toon.js";

const renderer = await Renderer.load();
/** As long as a table is that is worth another form. */
const PLAIN = `as Python shows it ${" ".repeat(2000)}`;

function shown(table: object): string {
  const result = { "text/plain": PLAIN, [TABLE_MIME]: JSON.stringify(table) };
  return outputText({ outputs: [], result, error: null } as unknown as CodeExecution, renderer);
}

const rows = Array.from({ length: 12 }, (_, at) => [at * 2, at % 3]);
const counting = rows.map((_, at) => at);

describe("a table for a model", () => {
  it("has the labels of its rows unless they only count them", () => {
    const table = { columns: ["score", "left"], rows, shape: [12, 2] };
    expect(shown({ ...table, index: counting })).toContain("[12]{score,left}:");
    const teams = rows.map((_, at) => `team ${at}`);
    const named = shown({ ...table, index: teams, index_names: ["team"] });
    expect(named).toContain("[12]{team,score,left}:");
    expect(named).toContain("team 3,6,0");
    expect(shown({ ...table, index: teams })).toContain("[12]{index,score,left}:");
    const pairs = teams.map((team, at) => [team, at]);
    expect(shown({ ...table, index: pairs, index_names: ["team", null] })).toContain(
      "[12]{team,index_1,score,left}:",
    );
  });

  it("is shown as Python does where two columns have one name", () => {
    expect(shown({ columns: ["a", "a"], rows, shape: [12, 2], index: counting })).toBe(PLAIN);
    const table = { columns: ["a", "b"], rows, shape: [12, 2], index: counting };
    expect(shown({ ...table, index_names: ["a"] })).toBe(PLAIN);
  });

  it("says how many rows and columns are missing", () => {
    const text = shown({ columns: ["a", "b"], rows, shape: [40, 5], index: counting });
    expect(text).toContain("(28 more rows)\n(3 more columns)");
  });
});
