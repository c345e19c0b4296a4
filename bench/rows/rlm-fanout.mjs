import { cell, Loops } from "../loop.mjs";
import { Provider } from "../provider.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const PROMPTS = 200;
const WIDTH = 16;
const ANSWER_MS = 100;
const CODE = [
  `answers = llm_query_batched(["question %d" % i for i in range(${PROMPTS})])`,
  `FINAL(len([text for text in answers if text == "yes"]))`,
].join("\n");
const MODELS = {
  root: { replies: [cell(CODE)] },
  sub: { replies: ["yes"], latencyMs: ANSWER_MS },
};

/** Sub-calls of a run over HTTP, against the time that the answers alone take. */
export const rlmFanout = {
  key: "rlm_fanout_vs_ideal",
  target: { at_most: 1.2 },
  async run({ count, use }) {
    const provider = use(await Provider.start(MODELS));
    const loops = use(new Loops(provider));
    const samples = await interleave(
      {
        run: () => timeCell(loops),
        fetched: () => time(() => fetchAlone(loops.model("sub"))),
      },
      { rounds: count(7, 2), warmups: 1, pause: 50 },
    );
    const ideal = Math.ceil(PROMPTS / WIDTH) * ANSWER_MS;
    return {
      ratio: median(samples.run) / ideal,
      rows: [
        {
          name: `${PROMPTS} sub-calls of ${ANSWER_MS} ms in a run, ${WIDTH} wide`,
          samples: samples.run,
        },
        {
          name: "the same requests without a sandbox",
          samples: samples.fetched,
          note: `the ratio is against the ideal ${ideal} ms, not against this row`,
        },
      ],
    };
  },
};

/** The duration of the whole cell, as the run reports it. */
async function timeCell(loops) {
  const { answer, trace } = await loops.answer({
    context: "nothing",
    model: loops.model("root"),
    subModel: loops.model("sub"),
    config: { queryConcurrency: WIDTH },
  });
  if (answer !== String(PROMPTS)) throw new Error(`${answer} sub-calls were answered`);
  return trace.find(({ type }) => type === "code.output").ms;
}

async function fetchAlone(model) {
  let next = 0;
  const work = async () => {
    for (; next < PROMPTS; ) {
      const content = `question ${next++}`;
      await model.complete({ messages: [{ role: "user", content }] });
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
}
