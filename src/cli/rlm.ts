import type { Command } from "commander";
import type { RunOptions } from "./rlm-run.js";
import { addSandboxOptions, parseCount, parseSeconds } from "./sandbox-options.js";

const EXAMPLES = `
The model looks at the context by writing Python, and never sees it as a whole. A cell may take
600 seconds with a context and 120 without one, unless --timeout says otherwise.

Keys come from the environment: OPENAI_API_KEY, with --anthropic ANTHROPIC_API_KEY. With --base-url
no key is sent, unless --key-env names the variable that has it.

Examples, with a server on this machine, OpenAI and Anthropic:
  cellar rlm "Who is Queequeg?" --context book.txt --model qwen3 --base-url http://127.0.0.1:8080/v1
  cellar rlm "Which host failed first?" --context server.log --model NAME --max-calls 50
  cellar rlm "Which host failed first?" --context server.log --model NAME --anthropic
See what a run did:
  cellar rlm "Sum it up" --context book.txt --model NAME --trace run.jsonl
  cellar trace view run.jsonl

Exit codes: 0 answered, 1 no answer within the turns or the budget, or the model failed,
2 wrong usage, 125 Cellar failed, 130 cancelled.`;

/** Loaded when needed: help should not wait for what runs a model. */
const running = () => import("./rlm-run.js");

export function registerRlm(program: Command, finish: (code: number) => void): void {
  const command = program
    .command("rlm")
    .description("let a model answer a question by exploring a context in Python")
    .argument("<question>", "what is to be answered")
    .requiredOption("--model <name>", "the model, as its endpoint names it")
    .option("--context <file>", "the text that the question is about")
    .option("--sub-model <name>", "answers llm_query and runs the loops below (default: --model)")
    .option("--base-url <url>", "an endpoint of your own, up to and with its version")
    .option("--key-env <name>", "the environment variable that has the key")
    .option("--anthropic", "the endpoint speaks Anthropic's messages, not OpenAI's chat")
    .option("--max-turns <n>", "turns of each loop (default: 30)", parseCount(1))
    .option("--depth <n>", "how deep loops may start loops (default: 1)", parseCount(0))
    .option("--max-calls <n>", "requests to models in all", parseCount(1))
    .option("--max-tokens <n>", "tokens of prompts and answers in all", parseCount(1))
    .option("--max-seconds <n>", "seconds after which no more requests are made", parseSeconds)
    .option("--trace <file>", "append what happens to this file, for cellar trace view")
    .option("--json", "print one JSON object and nothing else on stdout");
  addSandboxOptions(command, "full", "ast")
    .addHelpText("after", EXAMPLES)
    .action(async (question: string, options: RunOptions) =>
      finish(await (await running()).answerQuestion(question, options)),
    );
}
