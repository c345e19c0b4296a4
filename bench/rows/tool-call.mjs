import { ToolRegistry } from "../../dist/registry/index.js";
import { open, run, warm } from "../cellar.mjs";
import { median, percentile, round } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const CALLS = 200;
const PAUSE_MS = 50;
/** What Monty's authors publish for a call of an external function. */
const MONTY_MS = 0.022;

const nothing = { execute: () => null };

/** A call of a registered tool, against the cheapest call of the host that there is. */
export const toolCall = {
  key: "tool_call_vs_floor",
  target: { at_most: 1.5 },
  async run(bench) {
    const registered = await openRegistered(bench);
    const bare = bench.use(await open(bench.runtime, { tools: { nothing } }));
    const samples = await interleave(
      {
        registered: () => timed(registered, "tool_call('nothing', {})"),
        bare: () => timed(bare, "nothing()"),
      },
      roundsOf(bench),
    );
    return {
      ratio: median(samples.registered) / median(samples.bare),
      rows: [
        { name: "Cellar, tool_call of a registered tool", samples: samples.registered },
        { name: "Cellar, an empty function of the host", samples: samples.bare },
      ],
    };
  },
};

/** The same call in milliseconds, beside what is published of an interpreter inside the host's own process. */
export const toolCallTime = {
  key: "tool_call_ms",
  isReported: true,
  async run(bench) {
    const registered = await openRegistered(bench);
    const { calls } = await interleave(
      { calls: () => timed(registered, "tool_call('nothing', {})") },
      roundsOf(bench),
    );
    const [half, tail] = [0.5, 0.99].map((share) => round(percentile(calls, share) / MONTY_MS));
    return {
      ratio: median(calls),
      rows: [
        {
          name: "Cellar, tool_call of a registered tool",
          samples: calls,
          note: `${half} times Monty's published call; the 99th percentile ${tail} times`,
        },
        { name: "Monty, an external function, as published", samples: [MONTY_MS] },
      ],
    };
  },
};

async function openRegistered({ runtime, observe, use }) {
  observe(await warm(runtime, {}));
  const registry = use(await ToolRegistry.open({ tools: { nothing } }));
  return use(await open(runtime, { tools: registry }));
}

function roundsOf({ count }) {
  return { rounds: count(12, 2), warmups: count(2, 1), pause: PAUSE_MS };
}

/** Milliseconds of each call, as a cell sees them. */
async function timed(sandbox, call) {
  const code = [
    "import json, time",
    "times = []",
    `for _ in range(${CALLS}):`,
    "    began = time.perf_counter()",
    `    ${call}`,
    "    times.append((time.perf_counter() - began) * 1000)",
    "print(json.dumps(times))",
  ].join("\n");
  const { stdout } = await run(sandbox, code);
  return JSON.parse(stdout);
}
