import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { readCells } from "../campaign.js";
import { readSection } from "./section.js";

const PROCESSES = [
  "MCP server",
  "chat server",
  "daemon",
  "head",
  "host",
  "init",
  "parked copy",
  "supervisor",
  "zygote",
];
const FEWEST_CELLS = 500;
const FEWEST_OF_A_PROCESS = 10;

it("aims cells at each process of ours, and says none twice", () => {
  const sections = readdirSync(new URL(".", import.meta.url))
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => readSection(name));
  expect([...new Set(sections.map(({ process }) => process))].sort()).toEqual(PROCESSES);
  for (const process of PROCESSES) {
    const cells = sections.filter((cell) => cell.process === process);
    expect(cells.length, process).toBeGreaterThanOrEqual(FEWEST_OF_A_PROCESS);
  }
  const cells = [...readCells("cells.json"), ...readCells("more-cells.json"), ...sections];
  expect(new Set(cells.map(({ id }) => id)).size).toBe(cells.length);
  expect(cells.length).toBeGreaterThanOrEqual(FEWEST_CELLS);
  for (const { reached } of sections) expect(reached).not.toBe("");
});
