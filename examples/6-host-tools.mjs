// Python has no network and no keys, but can call your functions: a tool, and llm_query.
import { createSandbox, hostTool, shutdown } from "cellar";
import { z } from "zod";

const stock = new Map([
  ["lamp", 3],
  ["chair", 0],
]);

const sandbox = await createSandbox({
  onLLMQuery: async (prompt) => `an answer to ${prompt.length} characters`,
  tools: {
    in_stock: hostTool({
      description: "How many of an article there are.",
      inputSchema: z.object({ article: z.string() }),
      execute: async ({ article }) => {
        const count = stock.get(article);
        if (count === undefined) throw new Error(`there is no ${article}; try lamp or chair`);
        return count;
      },
    }),
  },
});
const counted = await sandbox.execute("[in_stock(article=name) for name in ('lamp', 'chair')]");
console.log(counted.result?.["text/plain"]);
const failed = await sandbox.execute("in_stock(article='sofa')");
console.log(failed.error?.type, failed.error?.message);
const asked = await sandbox.execute("llm_query('What goes with a lamp?')");
console.log(asked.result?.["text/plain"]);
await shutdown();
