import { cell, Loops } from "../loop.mjs";
import { Provider, tokensOf } from "../provider.mjs";
import { interleave } from "../stopwatch.mjs";

const WIDTH = 64;
/** A cent per token, so that one token too many shows in a figure with three decimals. */
const PRICE = { inputPerMillion: 10_000, outputPerMillion: 10_000 };
const DOLLARS_PER_TOKEN = 0.01;
const PROMPTS = 3 * WIDTH;
const ANSWER_TOKENS = 500;
/** About the cost of the shortest answers to half of the prompts. */
const CAP = 100;
const CODE = [
  `prompts = ["Tell all about question %d." % i for i in range(${PROMPTS})]`,
  "answers = llm_query_batched(prompts, return_exceptions=True)",
  "refused = [str(each) for each in answers if not isinstance(each, str)]",
  "print(len(answers), refused[-1] if refused else 'nothing was refused')",
].join("\n");
/** Longer than what the budget has left: it is cut there. */
const CHATTER = "word ".repeat(4000);
const MODELS = {
  root: { replies: [cell(CODE), CHATTER, CHATTER, CHATTER] },
  sub: { words: ANSWER_TOKENS, latencyMs: 20 },
};

/** What a batch that is far too expensive spends beyond the budget, by the provider's count. */
export const rlmBudget = {
  key: "rlm_budget_overshoot",
  target: { at_most: 0 },
  async run({ count, use }) {
    const provider = use(await Provider.start(MODELS));
    const loops = use(new Loops(provider));
    const most = [];
    const { spent } = await interleave(
      {
        spent: async () => {
          const { dollars, mostAtOnce } = await spend(loops, provider);
          most.push(mostAtOnce);
          return dollars;
        },
      },
      { rounds: count(5, 1), warmups: 0, pause: 50 },
    );
    return {
      ratio: Math.max(0, ...spent.map((dollars) => dollars - CAP)),
      rows: [
        {
          name: `${PROMPTS} sub-calls, ${WIDTH} wide, budget $${CAP}`,
          unit: "$",
          samples: spent,
          note: `as the provider counts; up to ${Math.max(...most)} concurrent requests`,
        },
        {
          name: "the sub-calls alone, without a budget",
          unit: "$",
          samples: [await spendAll(loops, provider)],
        },
      ],
    };
  },
};

async function spend(loops, provider) {
  const { status, trace } = await loops.run({ ...asked(loops), budget: { dollars: CAP } });
  const { requests, mostAtOnce } = await provider.report();
  const { observation } = trace.find(({ type }) => type === "code.output");
  if (status !== "out-of-budget" || !/budget of dollars/.test(observation)) {
    throw new Error(`the budget had no effect: ${status}, ${observation}`);
  }
  return { dollars: dollarsOf(requests), mostAtOnce };
}

async function spendAll(loops, provider) {
  await loops.run({ ...asked(loops), budget: { turns: 1 } });
  const { requests } = await provider.report();
  return tokensOf(requests, "sub") * DOLLARS_PER_TOKEN;
}

function asked(loops) {
  return {
    context: "nothing",
    model: loops.model("root", { price: PRICE }),
    subModel: loops.model("sub", { price: PRICE }),
    config: { queryConcurrency: WIDTH },
  };
}

function dollarsOf(requests) {
  const tokens = ["root", "sub"].reduce((sum, model) => sum + tokensOf(requests, model), 0);
  return tokens * DOLLARS_PER_TOKEN;
}
