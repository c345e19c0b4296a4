import { setTimeout as sleep } from "node:timers/promises";
import { ToolRegistry } from "../../dist/registry/index.js";
import { openAgent, warm } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const CALL_MS = 100;
const PAUSE_MS = 50;

const common = {
  allowedCallers: ["cell", "chain"],
  execute: async ({ n = 0 }) => {
    await sleep(CALL_MS);
    return n;
  },
};
const TOOLS = {
  look: { ...common, isReadOnly: true },
  step: { ...common, isReadOnly: true },
};

const EIGHT = Array.from({ length: 8 }, (_, n) => `r${n} = tools.look(n=${n})`).join("\n");
/** Four calls, two that need them, and one that needs both. */
const WAVES = [
  "a = tools.step(n=1)",
  "b = tools.step(n=2)",
  "c = tools.step(n=3)",
  "d = tools.step(n=4)",
  "e = tools.step(n=a, m=b)",
  "f = tools.step(n=c, m=d)",
  "g = tools.step(n=e, m=f)",
].join("\n");

/** Read-only calls of one turn, at most four at once, against two rounds of a call. */
export const parallelTools = chained("parallel_tools_vs_ideal", {
  target: { at_most: 1.15 },
  code: EIGHT,
  rounds: 2,
  options: {},
  mode: "parallel_read_only",
  name: "8 independent calls of 100 ms, at most 4 at once",
});

/** A chain of three waves, against three rounds of a call. */
export const dependentTools = chained("dep_waves_vs_ideal", {
  target: { at_most: 1.2 },
  code: WAVES,
  rounds: 3,
  options: { chainMode: "dep" },
  mode: "dep",
  name: "a chain of 3 waves: 4, 2 and 1 calls of 100 ms",
});

function chained(key, { target, code, rounds, options, mode, name }) {
  return {
    key,
    target,
    async run({ runtime, count, observe, use }) {
      observe(await warm(runtime, {}));
      const registry = use(await ToolRegistry.open({ tools: TOOLS }));
      const repl = use(await openAgent({ tools: registry, structured: true, ...options }));
      const samples = await interleave(
        {
          chain: () =>
            time(async () => {
              const { execution, chain } = await repl.turn(code);
              if (execution.status !== "ok")
                throw new Error(`the turn ended with ${execution.status}`);
              if (chain?.mode_used !== mode) throw new Error(`the turn ran as ${chain?.mode_used}`);
            }),
        },
        { rounds: count(10, 2), warmups: 1, pause: PAUSE_MS },
      );
      const ideal = rounds * CALL_MS;
      return {
        ratio: median(samples.chain) / ideal,
        rows: [
          { name: `Cellar, ${name}`, samples: samples.chain },
          { name: "as long as the calls take", samples: [ideal] },
        ],
      };
    },
  };
}
