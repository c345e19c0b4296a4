import { setTimeout as sleep } from "node:timers/promises";
import { open, run, warm } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const PROMPTS = 64;
const WIDTH = 16;
const ANSWER_MS = 100;
const CODE = `assert len(llm_query_batched(["p%d" % i for i in range(${PROMPTS})])) == ${PROMPTS}`;

/** A batch of queries to the host, against the time that the answers alone take. */
export const batchedQueries = {
  key: "batched_vs_ideal",
  target: { at_most: 1.15 },
  async run({ runtime, count, observe, use }) {
    observe(await warm(runtime, {}));
    const onLLMQuery = async (prompt) => {
      await sleep(ANSWER_MS);
      return prompt;
    };
    const sandbox = use(await open(runtime, { queryConcurrency: WIDTH, onLLMQuery }));
    const samples = await interleave(
      { batched: () => time(() => run(sandbox, CODE)), alone: () => time(answersAlone) },
      { rounds: count(7, 2), warmups: 1, pause: 50 },
    );
    const ideal = (PROMPTS / WIDTH) * ANSWER_MS;
    return {
      ratio: median(samples.batched) / ideal,
      rows: [
        { name: `${PROMPTS} llm_query prompts, ${WIDTH} at a time`, samples: samples.batched },
        {
          name: "the same waits in Node alone",
          samples: samples.alone,
          note: `the ratio is against the ideal ${ideal} ms, not against this row`,
        },
      ],
    };
  },
};

async function answersAlone() {
  for (let asked = 0; asked < PROMPTS; asked += WIDTH) {
    await Promise.all(Array.from({ length: WIDTH }, () => sleep(ANSWER_MS)));
  }
}
