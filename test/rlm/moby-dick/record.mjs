// Records moby-dick.cassette again. Run it after a deliberate change to what a loop tells its model.
// The models' answers are written here by hand; everything else is a real run over the whole book.
import { readFileSync, rmSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { rlm, shutdown } from "../../../dist/index.js";
import { functionModel, scripted } from "../../../dist/rlm/index.js";

const cassette = new URL("moby-dick.cassette", import.meta.url);
const { query, config } = JSON.parse(
  readFileSync(new URL("moby-dick.json", import.meta.url), "utf8"),
);
const book = brotliDecompressSync(
  readFileSync(new URL("moby-dick.txt.br", import.meta.url)),
).toString();

const ROOT = [
  `I look at the beginning first, and how the text is divided.

\`\`\`repl
import re
print(context_len(), "characters")
print(peek(200))
titles = re.findall(r"^CHAPTER (\\d+)\\. (.+)$", context, re.M)
print(len(titles), "chapters, from", titles[0], "to", titles[-1])
\`\`\``,
  `135 chapters. When two whalers meet they hail each other, and Ahab asks one question only. Where does he ask it?

\`\`\`repl
chapters = re.split(r"^(?=CHAPTER \\d+\\. )", context, flags=re.M)[1:]
asked = [n for n, text in enumerate(chapters, 1) if re.search(r"(seen|hast seen|ye seen) the white whale", text, re.I)]
print(asked)
for n in asked:
    print(n, chapters[n - 1].splitlines()[0])
\`\`\``,
  `That finds some, but a ship may be met without these words. I ask a model about the opening of every chapter.

\`\`\`repl
ASK = "Does the Pequod meet another ship at sea in this chapter? Answer with the name of that ship, or NONE.\\n\\n"
met = llm_query_batched([ASK + text[:1500] for text in chapters])
ships = {n: str(name) for n, name in enumerate(met, 1) if name != "NONE"}
for n, name in ships.items():
    print(n, name)
print("not among those where Ahab asks:", sorted(set(ships) - set(asked)))
\`\`\``,
  `Nine ships. Now what each of them knows of the whale: for the short chapters a question with the passages is enough; the Town-Ho's story is long and told in a roundabout way, so I give it a loop of its own.

\`\`\`repl
def passages(text):
    lines = text.splitlines()
    near = {k for n, line in enumerate(lines) if re.search("white whale|moby dick|hast seen", line, re.I) for k in range(n, n + 5)}
    return "\\n".join(lines[n] for n in sorted(near) if n < len(lines))[:4000]

short = [n for n in ships if n != 54]
replies = llm_query_batched(["What does the other ship tell Ahab of the White Whale? One sentence.\\n\\n" + passages(chapters[n - 1]) for n in short])
news = dict(zip(short, map(str, replies)))
news[54] = str(rlm_query("What happened between the Town-Ho and Moby Dick? One sentence.", chapters[53]))
for n in sorted(news):
    print(n, ships[n] + ":", news[n])
\`\`\``,
  `All nine have something to say. I put it together.

\`\`\`repl
FINAL([{"chapter": n, "ship": ships[n], "news": news[n]} for n in sorted(ships)])
\`\`\``,
];

const SHIPS = {
  52: "Goney (Albatross)",
  54: "Town-Ho",
  71: "Jeroboam",
  81: "Jungfrau (Virgin)",
  91: "Bouton de Rose (Rose-Bud)",
  100: "Samuel Enderby",
  115: "Bachelor",
  128: "Rachel",
  131: "Delight",
};

const NEWS = [
  [
    /^CHAPTER 52\.|pallid bulwarks/,
    "Nothing: her captain drops his trumpet into the sea and cannot make himself heard.",
  ],
  [/Jeroboam/, "He killed their chief mate Macey, and Gabriel warns Ahab against hunting him."],
  [/lamp-feeder/, "Her captain has never heard of him and only wants oil for his lamp."],
  [/Cachalot Blanche/, "Nobody on board has ever heard of such a whale."],
  [/ivory arm/, "He took the captain's arm on the Line last season, and was seen twice since."],
  [/don't believe in him/, "They have only heard of him, and do not believe in him at all."],
  [
    /whale-boat adrift|Aye, yesterday/,
    "They saw him yesterday, and a boat with the captain's own son is missing since.",
  ],
  [
    /Not forged|hast killed him|gaunt/i,
    "He stove their boat and killed five strong men the day before.",
  ],
];

const CHILD = [
  "```repl\nimport re\nlines = context.splitlines()\nseen = [n for n, line in enumerate(lines) if re.search('moby dick|snowy whale|white whale', line, re.I)]\nprint(len(lines), 'lines; the whale stands in', seen)\nfor n in seen[-2:]:\n    print(lines[n][:700])\n```",
  "```repl\nend = next(line for line in lines if 'Radney' in line and 'jaws' in line)\nprint(end[:900])\n```",
  "FINAL(Before the mutineer Steelkilt could take his revenge on the mate Radney, Moby Dick seized Radney in his jaws and went down with him.)",
];

/** Answers as a small model would that had read what it is given. */
function answer({ messages }) {
  const asked = messages.at(-1).content;
  if (messages.length > 1) return CHILD[messages.filter(({ role }) => role === "assistant").length];
  if (asked.startsWith("Does the Pequod meet")) {
    return SHIPS[/\n\nCHAPTER (\d+)\./.exec(asked)?.[1]] ?? "NONE";
  }
  const known = NEWS.find(([pattern]) => pattern.test(asked));
  if (known === undefined) throw new Error(`no answer is written to: ${asked.slice(0, 300)}`);
  return known[1];
}

rmSync(cassette, { force: true });
const result = await rlm({
  query,
  context: book,
  model: scripted(ROOT, { name: "root" }),
  subModel: functionModel(answer, { name: "sub" }),
  config,
  record: cassette.pathname,
});
console.log(result.status, result.turns, "turns", result.usage);
console.log(result.error?.message ?? result.answer);
await shutdown();
