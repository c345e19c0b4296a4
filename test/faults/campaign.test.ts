import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { needWalls } from "../hostile/attack-fixture.js";

const SCRIPT = fileURLToPath(new URL("../../scripts/faults.mjs", import.meta.url));
const PATIENCE_MS = 600_000;
const ROUNDS = 16;
/** A store that is wrong is found out within so many rounds. */
const MOST_ROUNDS = 60;
const OPERATIONS = 300;

needWalls();

describe("a campaign of faults", () => {
  const seed = randomInt(1_000_000);

  it(
    `loses nothing that was acknowledged, says nothing untrue and leaves nothing (seed ${seed})`,
    async () => {
      const { code, said } = await faults("--rounds", ROUNDS, "--seed", seed, "--parallel", 3);
      expect(said).toMatch(/lost 0, untrue 0, left behind 0\n$/);
      expect(said).toContain(`rounds ${ROUNDS}, `);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );

  it.each([
    ["answers before it has saved", "early-answer", "kill"],
    ["lets a former owner write", "no-fence", "takeover"],
    ["lets a former owner delete", "unowned-delete", "takeover"],
  ])(
    "finds out a store that %s",
    async (_, variant, only) => {
      const limits = ["--rounds", MOST_ROUNDS, "--seed", seed, "--parallel", 2];
      const { code, said } = await faults("--variant", variant, "--only", only, ...limits);
      expect(said).toMatch(/^ {2}lost: .*(is gone|has changed|cannot be read)/m);
      expect(said).toContain(`${variant} was found out`);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );
});

describe("a storm of concurrent calls", () => {
  const seed = randomInt(1_000_000);

  it(
    `finds every sandbox in a state that was told, and the process ends by itself (seed ${seed})`,
    async () => {
      const { code, said } = await faults("--storm", "--operations", OPERATIONS, "--seed", seed);
      expect(said).toMatch(/hangs 0, .*wrong states 0, left behind 0, ended at once\n$/);
      expect(code).toBe(0);
    },
    PATIENCE_MS,
  );
});

async function faults(...args: (string | number)[]): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number>((resolve) => {
    child.on("close", (code) => resolve(code ?? 1));
  });
  const said = await text(child.stdout);
  return { code: await ended, said };
}
