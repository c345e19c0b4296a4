import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { loadTokenizer } from "../../dist/agent/observation/tokens.js";
import { openAgent, warm } from "../cellar.mjs";
import { Unavailable } from "../unavailable.mjs";

const CHARACTERS = 200_000;
/** Prose that comes with every Python: its reference manual, topic by topic. */
const READ = [
  "import sys",
  "from pydoc_data.topics import topics",
  "text = '\\n'.join(topics[name] for name in sorted(topics))",
  `sys.stdout.buffer.write(text[:${CHARACTERS}].encode())`,
].join("\n");

/** A model's cells for the question: how do you set a breakpoint that disappears once it is hit? */
const TURNS = [
  "print(context_len())\nprint(peek(200))",
  "grep('breakpoint.*(once|remove|delete)', context_lines=1)",
  "grep('temporary breakpoint')",
  "FINAL('With tbreak: it is removed automatically when it is first hit.')",
];
const EVIDENCE = /tbreak [\s\S]*removed automatically[\s\S]*\[FINAL accepted\]$/;

/** A question about a long text, answered by exploring it, against reading the whole. */
export const explore = {
  key: "tokens_full_vs_explore",
  target: { at_least: 100 },
  async run({ runtime, observe, use }) {
    const zygote = await warm(runtime, {});
    observe(zygote);
    const text = await manual(zygote.interpreter.executable);
    const repl = use(await openAgent({ context: text }));
    const parts = [];
    for (const code of TURNS) {
      const { observation } = await repl.turn(code);
      parts.push(code, observation);
    }
    if (!EVIDENCE.test(parts.join("\n"))) throw new Error(`not found:\n${parts.join("\n")}`);
    const tokenizer = await loadTokenizer();
    const count = (part) => tokenizer.count(part);
    const explored = parts.map(count).reduce((sum, tokens) => sum + tokens);
    const whole = count(text);
    return {
      ratio: whole / explored,
      rows: [
        {
          name: `Cellar, code and observations of ${TURNS.length} turns`,
          unit: "tokens",
          samples: [explored],
        },
        { name: "the whole text, 200,000 characters", unit: "tokens", samples: [whole] },
      ],
    };
  },
};

async function manual(python) {
  const { stdout } = await promisify(execFile)(python, ["-I", "-c", READ], {
    maxBuffer: 4 * CHARACTERS,
  }).catch(() => {
    throw new Unavailable("this Python has no pydoc_data (its manual)");
  });
  if (stdout.length < CHARACTERS)
    throw new Unavailable(`the manual has ${stdout.length} characters`);
  return stdout;
}
