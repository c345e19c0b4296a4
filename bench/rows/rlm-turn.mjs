import { warm } from "../cellar.mjs";
import { cell, Loops } from "../loop.mjs";
import { OfficialRlm } from "../peers/official-rlm.mjs";
import { Provider } from "../provider.mjs";
import { median } from "../statistics.mjs";
import { interleave } from "../stopwatch.mjs";

const TURNS = 20;
/** A model takes time, during which a loop can do other work. */
const ANSWER_MS = 50;
const PAUSE_MS = 200;
const WARMUPS = 2;
const QUERY = "What do the sums come to?";
const CONTEXT = "One line of a text that nobody has to read for this question.\n".repeat(1600);
/** Code that both packages accept. */
const REPLIES = [
  ...Array.from({ length: TURNS }, (_, turn) =>
    cell(`total_${turn} = sum(range(${turn}, 1000))\nprint("turn ${turn}:", total_${turn})`),
  ),
  cell(`answer["content"] = str(total_${TURNS - 1})\nanswer["ready"] = True`),
];
const ANSWER = "499329";
const MODELS = {
  paced: { replies: REPLIES, latencyMs: ANSWER_MS },
  prompt: { replies: REPLIES },
};

/** A turn of the loop without the time of the model, against the official package in Python. */
export const rlmTurn = {
  key: "rlm_turn_overhead_vs_official",
  target: { at_least: 2 },
  async run({ runtime, count, observe, use }) {
    const zygote = await warm(runtime, {});
    observe(zygote);
    const official = use(await OfficialRlm.start(zygote.interpreter.executable));
    const provider = use(await Provider.start(MODELS));
    const loops = use(new Loops(provider));
    const around = { ours: [], theirs: [] };
    const ours = (model, config) => perTurn(provider, () => runOurs(loops, model, config));
    const theirs = (model) => perTurn(provider, () => runTheirs(official, provider, model));
    const samples = await interleave(
      {
        ours: () => ours("paced").then(keepRest(around.ours)),
        theirs: () => theirs("paced").then(keepRest(around.theirs)),
        oursAtOnce: () => ours("prompt").then(({ turn }) => turn),
        oursBare: () => ours("prompt", { checkpoints: "off" }).then(({ turn }) => turn),
        theirsAtOnce: () => theirs("prompt").then(({ turn }) => turn),
      },
      { rounds: count(9, 2), warmups: WARMUPS, pause: PAUSE_MS },
    );
    const peer = official.version;
    return {
      ratio: median(samples.theirs) / median(samples.ours),
      rows: [
        {
          name: "Cellar, a turn: from an answer to the next request",
          samples: samples.ours,
          note: `in a sandbox; mean of ${TURNS} turns, with a model that answers after ${ANSWER_MS} ms`,
        },
        { name: `${peer}, a turn`, samples: samples.theirs, note: "in its own process, by exec" },
        {
          name: "Cellar, a turn when the model answers at once",
          samples: samples.oursAtOnce,
        },
        { name: "Cellar, the same, checkpoints off", samples: samples.oursBare },
        { name: `${peer}, a turn when the model answers at once`, samples: samples.theirsAtOnce },
        {
          name: "Cellar, before the first request and after the last",
          samples: around.ours.slice(WARMUPS),
        },
        { name: `${peer}, the same`, samples: around.theirs.slice(WARMUPS) },
      ],
    };
  },
};

/** Milliseconds of a turn, and of the time before the first and after the last, without the model's. */
async function perTurn(provider, run) {
  const began = performance.now();
  const { answer, ms = performance.now() - began } = await run();
  const { requests } = await provider.report();
  if (answer !== ANSWER || requests.length !== REPLIES.length) {
    throw new Error(`a run gave ${answer} after ${requests.length} requests`);
  }
  const inTurns = requests
    .slice(1)
    .map(({ came }, before) => came - requests[before].answered)
    .reduce((sum, gap) => sum + gap);
  return { turn: inTurns / TURNS, rest: ms - (requests.at(-1).answered - requests[0].came) };
}

function keepRest(rests) {
  return ({ turn, rest }) => {
    rests.push(rest);
    return turn;
  };
}

function runOurs(loops, model, config) {
  return loops.answer({ query: QUERY, context: CONTEXT, model: loops.model(model), config });
}

/** The peer reports its own time. */
function runTheirs(official, { baseUrl }, model) {
  return official.run({ baseUrl, model, context: CONTEXT, query: QUERY });
}
