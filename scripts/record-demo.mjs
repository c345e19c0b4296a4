// Records demo/run.cassette again. Run it after a deliberate change to the prompts of the loop.
// The models' answers are written here by hand; everything else is a real run.
import { readFileSync, rmSync } from "node:fs";
import { shutdown } from "../dist/index.js";
import { functionModel, rlm, scripted } from "../dist/rlm/index.js";

const demo = new URL("../demo/", import.meta.url);
const cassette = new URL("run.cassette", demo);
const { query, config } = JSON.parse(readFileSync(new URL("question.json", demo), "utf8"));

const ROOT = [
  `I look at how the text is divided first.

\`\`\`repl
import re
print(context_len(), "characters")
chapters = re.split(r"^(?=CHAPTER \\d+\\. )", context, flags=re.M)[1:]
for text in chapters:
    print(text.splitlines()[0], len(text))
\`\`\``,
  `Four chapters, four ships. Ahab always asks the same question; I show a model what surrounds it in each.

\`\`\`repl
def passage(text):
    at = re.search("seen the white whale", text, re.I).start()
    return text[max(0, at - 600):at + 1200]

names = llm_query_batched(["Which ship does the Pequod meet? Answer with its name.\\n\\n" + text[:600] for text in chapters])
news = llm_query_batched(["What does the other ship tell Ahab of the White Whale? One sentence.\\n\\n" + passage(text) for text in chapters])
met = [{"ship": str(name), "news": str(told)} for name, told in zip(names, news)]
for one in met:
    print(one["ship"] + ":", one["news"])
\`\`\``,
  `That answers it.

\`\`\`repl
FINAL(met)
\`\`\``,
];

const ANSWERS = [
  [/^Which[\s\S]*Goney/, "Goney"],
  [/^Which[\s\S]*Bachelor/, "Bachelor"],
  [/^Which[\s\S]*Rachel/, "Rachel"],
  [/^Which[\s\S]*Delight/, "Delight"],
  [/pallid bulwarks/, "Nothing: her captain drops his trumpet and cannot make himself heard."],
  [/don't believe in him/, "They have only heard of him, and do not believe in him at all."],
  [/whale-boat adrift|Aye, yesterday/, "They saw him yesterday, and have lost a boat since."],
  [/Not forged|Hast killed him/, "He killed five of their men the day before."],
];

/** Answers like a small model that has read the prompt. */
function answer({ messages }) {
  const prompt = messages.at(-1).content;
  const known = ANSWERS.find(([pattern]) => pattern.test(prompt));
  if (known === undefined) throw new Error(`no answer is written for: ${prompt.slice(0, 300)}`);
  return known[1];
}

rmSync(cassette, { force: true });
const result = await rlm({
  query,
  context: readFileSync(new URL("moby-dick.txt", demo), "utf8"),
  model: scripted(ROOT, { name: "root" }),
  subModel: functionModel(answer, { name: "sub" }),
  config,
  record: cassette.pathname,
});
console.log(result.status, result.turns, "turns", result.usage);
console.log(result.error?.message ?? result.answer);
await shutdown();
