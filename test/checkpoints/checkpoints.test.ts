import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { needWalls } from "../hostile/attack-fixture.js";

const SCRIPT = fileURLToPath(new URL("../../scripts/checkpoints.mjs", import.meta.url));
const PATIENCE_MS = 600_000;
const RUNS = 8;
const BURSTS = 12;
/** What is wrong on purpose is found out within so many. */
const MOST = 60;

needWalls();

describe("a trial of checkpoints", () => {
  const seed = randomInt(1_000_000);

  it(
    `finds after every restore the state that was there, and loses no more than was told (seed ${seed})`,
    async () => {
      const { code, said } = await trial("--runs", RUNS, "--bursts", BURSTS, "--seed", seed);
      expect(said).toMatch(/untrue 0, too much lost 0, failed 0\n/);
      expect(said).toMatch(/different 0, failed 0\n$/);
      expect(said).toContain(`runs ${RUNS}, `);
      expect(said).toContain(`bursts ${BURSTS}, `);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );

  it.each([
    ["a state that was changed", "changed-state", /^ {2}different: .* \| not /m],
    ["a cell that was left out", "skipped-cell", /^ {2}different: .* \| not /m],
    ["a loss that was not told", "false-report", /^ {2}untrue: the variables hold /m],
    [
      "a checkpoint that came too late",
      "late-checkpoint",
      /^ {2}too much: .* for an interval of /m,
    ],
  ])(
    "finds out %s",
    async (_, variant, finding) => {
      const most = ["--runs", MOST, "--bursts", MOST, "--seed", seed, "--way", "forks"];
      const { code, said } = await trial("--variant", variant, ...most);
      expect(said).toMatch(finding);
      expect(said).toContain(`${variant} was found out`);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );
});

async function trial(...args: (string | number)[]): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number>((resolve) => {
    child.on("close", (code) => resolve(code ?? 1));
  });
  const said = await text(child.stdout);
  return { code: await ended, said };
}
