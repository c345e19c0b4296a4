// A recursive language model: a loop in which a model writes cells, queries a second model, and answers.
// Both are stand-ins here, so nothing is sent over the network; use openAIChat() for a real one.
import { rlm, shutdown } from "cellar";
import { functionModel, scripted } from "cellar/rlm";

const reviews = ["Great lamp, very bright.", "Broke after a day.", "Bright, and it lasts."];

const model = scripted([
  "I ask about each review.\n```repl\nkinds = llm_query_batched(['Good or bad? ' + text for text in context])\nkinds\n```",
  "```repl\nFINAL({'good': kinds.count('good'), 'bad': kinds.count('bad')})\n```",
]);
const subModel = functionModel(({ messages }) =>
  messages.at(-1)?.content.includes("Broke") ? "bad" : "good",
);

const result = await rlm({
  query: "How many reviews are good, how many bad?",
  context: reviews,
  model,
  subModel,
  budget: { turns: 5, calls: 20 },
});
console.log(result.status, result.answer);
console.log(`${result.turns} turns, ${result.usage.calls} calls`);
await shutdown();
