import { isDeepStrictEqual } from "node:util";
import { loadTokenizer } from "../../dist/agent/observation/tokens.js";
import { longTasks } from "../long-tasks.mjs";
import { Loops } from "../loop.mjs";
import { Provider, tokensOf } from "../provider.mjs";
import { countWhole } from "../whole-text.mjs";

const SUB = { oracle: { errorRate: 0 }, latencyMs: 20 };

/** What the root model reads and writes to answer questions about 1 MB, against the whole text. */
export const rlmTokens = {
  key: "rlm_root_tokens_vs_full",
  target: { at_least: 50 },
  async run({ use }) {
    const tasks = longTasks();
    const roots = Object.fromEntries(tasks.map(({ name, replies }) => [name, { replies }]));
    const provider = use(await Provider.start({ ...roots, sub: SUB }));
    const loops = use(new Loops(provider));
    const tokenizer = await loadTokenizer();
    const ratios = [];
    const rows = [];
    for (const task of tasks) {
      const { name, context } = task;
      await solve(loops, task);
      const { requests } = await provider.report();
      const full = countWhole(tokenizer, context);
      const root = tokensOf(requests, name);
      ratios.push(full / root);
      rows.push(
        {
          name: `${name}: root model, ${requests.filter(({ model }) => model === name).length} turns`,
          unit: "tokens",
          samples: [root],
          note: `solved exactly; the sub-model read and wrote ${tokensOf(requests, "sub")} tokens`,
        },
        { name: `${name}: the whole context`, unit: "tokens", samples: [full] },
      );
    }
    return { ratio: Math.min(...ratios), rows };
  },
};

async function solve(loops, { name, query, context, expected }) {
  const model = loops.model(name);
  const { output } = await loops.answer({ query, context, model, subModel: loops.model("sub") });
  if (!isDeepStrictEqual(output, expected)) {
    throw new Error(`${name} was not solved: ${JSON.stringify(output).slice(0, 200)}`);
  }
}
