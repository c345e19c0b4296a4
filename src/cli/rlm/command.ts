import type { Command } from "commander";
import {
  addBudgetOptions,
  addModelOptions,
  CELL_TIMEOUT,
  contextOption,
} from "../options/model-options.js";
import { addSandboxOptions } from "../options/sandbox-options.js";
import type { RunOptions } from "./run.js";
import { registerRlmServe } from "./serve.js";

const EXAMPLES = `
The model looks at the context by writing Python, and never sees it as a whole. A cell may take
600 seconds with a context and 120 without one, unless --timeout says otherwise.

One file, address or - (stdin) is one text. A folder or several of them are documents by their names.
Of a folder, what is hidden, binary, a symbolic link or named by .gitignore is left out, and told on stderr.

Keys come from the environment: OPENAI_API_KEY, with --anthropic ANTHROPIC_API_KEY. With --base-url
no key is sent, unless --key-env names the variable that has it.

With OTEL_EXPORTER_OTLP_ENDPOINT the run is sent to that collector as OpenTelemetry spans.

Examples, with a server on this machine, OpenAI and Anthropic:
  cellar rlm "Who is Queequeg?" --context book.txt --model qwen3 --base-url http://127.0.0.1:8080/v1
  cellar rlm "Which host failed first?" --context server.log --model NAME --max-calls 50
  cellar rlm "Where are keys read?" --context src --context README.md --model NAME --anthropic
Spend two dollars at most:
  cellar rlm "Sum it up" --context https://example.com/book.txt --model NAME \\
    --price-in 3 --price-out 15 --max-dollars 2
See what a run did, or run it again without its models:
  cellar rlm "Sum it up" --context book.txt --model NAME --trace run.jsonl --record run.cassette
  cellar trace view run.jsonl
  cellar rlm "Sum it up" --context book.txt --replay run.cassette

Exit codes: 0 answered, 1 no answer within the turns or the budget, the model failed or a replay went
another way, 2 wrong usage, 125 Cellar failed, 130 cancelled.`;

/** Loaded when needed: help should not wait for what runs a model. */
const running = () => import("./run.js");

export function registerRlm(program: Command, finish: (code: number) => void): void {
  const command = program
    .command("rlm")
    .description("let a model answer a question by exploring a context in Python")
    .argument("<question>", "the question to answer")
    .addOption(contextOption());
  addBudgetOptions(addModelOptions(command))
    .option("--output-schema <file>", "JSON Schema that the answer must have the form of")
    .option("--record <file>", "write what the models are asked and answer to a new file")
    .option("--force", "replace the file of --record if it is there")
    .option("--replay <file>", "take the models' answers from such a file; needs no model")
    .option("--trace <file>", "append what happens to this file, for cellar trace view")
    .option("--json", "print one JSON object and nothing else on stdout");
  addSandboxOptions(command, "full", { timeout: CELL_TIMEOUT })
    .addHelpText("after", EXAMPLES)
    .action(async (question: string, options: RunOptions) =>
      finish(await (await running()).answerQuestion(question, options)),
    );
  registerRlmServe(command, finish);
}
