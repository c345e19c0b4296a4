import type { Command, Option } from "commander";
import {
  addBudgetOptions,
  addModelOptions,
  CELL_TIMEOUT,
  contextOption,
} from "../options/model-options.js";
import { addSandboxOptions, parseCount } from "../options/sandbox-options.js";
import { invalidInput } from "../terminal/report-error.js";
import type { ServeOptions } from "./serving.js";

const NOTES = `
Any client of OpenAI's chat completions can use it as a model: give the client the printed address.
The last message is the question. With --context all questions are about that; without it, the
conversation itself is the context, so that a long text can be pasted.

Each question has its own sandbox and the whole budget. Press Ctrl-C to stop the server.

It listens on this machine only. Another --host needs a key: see --server-key-env.

Examples:
  cellar rlm serve --context book.txt --model qwen3 --base-url http://127.0.0.1:8080/v1
  cellar rlm serve --model NAME --host 0.0.0.0 --server-key-env SERVER_KEY --max-calls 50`;

/** Loaded when needed: help should not wait for what runs a model. */
const serving = () => import("./serving.js");

export function registerRlmServe(rlm: Command, finish: (code: number) => void): void {
  const command = rlm
    .helpCommand(false)
    .command("serve")
    .description("serve it as a chat model that speaks OpenAI's protocol")
    .addOption(contextOption())
    .option("--host <host>", "address to listen on (default: 127.0.0.1)")
    .option("--port <n>", "port to listen on; 0 for any (default: 8787)", parseCount(0, 65_535))
    .option("--name <name>", "what clients call the model (default: cellar-rlm)")
    .option("--server-key-env <name>", "the variable with the key that clients must send")
    .option(
      "--max-concurrent <n>",
      "questions answered at a time (default: 2)",
      parseCount(1, 1_000),
    )
    .option("--max-waiting <n>", "questions that may wait (default: 16)", parseCount(0, 10_000))
    .option("--no-progress", "send only the answer in streams, no progress");
  addBudgetOptions(addModelOptions(command));
  addSandboxOptions(command, "full", { timeout: CELL_TIMEOUT })
    .addHelpText("after", NOTES)
    .action(async (_: unknown, { options }: Command) => {
      refuseForeign(rlm, options);
      // commander assigns options that both commands have to the parent.
      const all = command.optsWithGlobals<ServeOptions>();
      finish(await (await serving()).serveChat(all));
    });
}

/** Options of a single run would have no effect. */
function refuseForeign(rlm: Command, own: readonly Option[]): void {
  const known = new Set(own.map(({ long }) => long));
  const foreign = rlm.options.filter(
    (option) => !known.has(option.long) && rlm.getOptionValue(option.attributeName()) !== undefined,
  );
  if (foreign.length === 0) return;
  const names = foreign.map(({ long }) => long).join(", ");
  throw invalidInput(`serve does not know ${names}`, "Leave it out.");
}
