import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describeTools } from "../../dist/agent/index.js";
import { loadTokenizer } from "../../dist/agent/observation/tokens.js";
import { ToolRegistry } from "../../dist/registry/index.js";
import { systemPrompt } from "../../dist/rlm/prompts.js";
import { openAgent, warm } from "../cellar.mjs";
import { round } from "../statistics.mjs";
import { serversOn, toolJobs } from "../tool-jobs.mjs";

const LEAST_TOOLS = 30;
/** All that the way with one call a turn is told beside its tools. */
const INSTRUCTION = "Use the tools to answer the question.";

/** Tokens of jobs with one tool call a turn, against cells that call the tools. */
export const codemodeTokens = {
  key: "codemode_tokens_saving",
  target: { at_least: 10 },
  async run({ runtime, observe, use }) {
    observe(await warm(runtime, {}));
    const folder = use(new Folder());
    const jobs = toolJobs(folder.path);
    const registry = use(await ToolRegistry.open({ mcpServers: serversOn(folder.path) }));
    const schemas = await schemasOf(registry);
    const tokenizer = await loadTokenizer();
    const totals = { called: 0, written: 0 };
    const rows = [];
    for (const job of jobs) {
      const called = await callByCall(registry, job, new Chat(tokenizer, schemas, INSTRUCTION));
      const prompt = systemPrompt({ hasChildren: false, tools: describeTools(registry) });
      const repl = use(await openAgent({ tools: registry }));
      const written = await cellByCell(repl, job, new Chat(tokenizer, prompt));
      totals.called += called.tokens;
      totals.written += written.tokens;
      const saving = round(called.tokens / written.tokens);
      rows.push(
        {
          name: `Cellar, ${job.name}, in ${written.turns} cells`,
          unit: "tokens",
          samples: [written.tokens],
          note: `${saving} times fewer`,
        },
        {
          name: `the same with one call a turn, in ${called.turns} turns`,
          unit: "tokens",
          samples: [called.tokens],
        },
      );
    }
    return { ratio: totals.called / totals.written, rows };
  },
};

class Folder {
  path = realpathSync(mkdtempSync(join(tmpdir(), "cellar-bench-")));

  [Symbol.dispose]() {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Tokens of a conversation: all that was sent before each reply, and the reply. */
class Chat {
  tokens = 0;
  turns = 0;
  #tokenizer;
  #sent = 0;

  constructor(tokenizer, ...texts) {
    this.#tokenizer = tokenizer;
    for (const text of texts) this.tell(text);
  }

  tell(text) {
    this.#sent += this.#tokenizer.count(text);
  }

  reply(text) {
    const written = this.#tokenizer.count(text);
    this.turns += 1;
    this.tokens += this.#sent + written;
    this.#sent += written;
  }
}

/** The descriptions as a provider gets them, without what only a validator reads. */
async function schemasOf(registry) {
  const groups = await Promise.all(registry.groups.map((group) => registry.tools(group)));
  const schemas = groups
    .flatMap((tools) => [...tools])
    .map(
      ([
        name,
        {
          description,
          parameters: { $schema: _, ...input_schema },
        },
      ]) => JSON.stringify({ name, description, input_schema }),
    );
  if (schemas.length < LEAST_TOOLS) throw new Error(`there are only ${schemas.length} tools`);
  return schemas.join("\n");
}

async function callByCall(registry, { question, calls, expected, name: job }, chat) {
  chat.tell(question);
  const answer = await calls(async (name, input) => {
    chat.reply(JSON.stringify({ name, input }));
    const shown = shownText((await registry.call(name, input)).value);
    chat.tell(shown);
    return shown;
  });
  chat.reply(typeof answer === "string" ? answer : JSON.stringify(answer));
  check(job, answer, expected);
  return chat;
}

/** A text as it is, and other values as compact JSON. */
function shownText(value) {
  if (typeof value === "string") return value;
  const { content, ...others } = value;
  const isText = typeof content === "string" && Object.keys(others).length === 0;
  return isText ? content : JSON.stringify(value);
}

async function cellByCell(repl, { question, cells, expected, name: job }, chat) {
  chat.tell(question);
  let answer;
  for (const code of cells) {
    chat.reply(`\`\`\`repl\n${code}\n\`\`\``);
    const { observation, execution, final } = await repl.turn(code);
    if (execution.status !== "ok") throw new Error(`${job}: a cell failed:\n${observation}`);
    chat.tell(observation);
    answer = final?.value;
  }
  check(job, answer, expected);
  return chat;
}

function check(job, answer, expected) {
  if (isDeepStrictEqual(answer, expected)) return;
  throw new Error(`${job} was answered with ${JSON.stringify(answer)}`);
}
