import { plainOf } from "../../agent/observation/plain-value.js";
import { type RLMOptions, type RLMResult, rlm } from "../../rlm/rlm.js";
import { makeWay, tellFile } from "../exec/host-files.js";
import { EXIT, exitCodeFor } from "../exit-codes.js";
import { budgetOf, modelsOf, requirePrices } from "../options/model-choice.js";
import type { BudgetOptions, ModelOptions } from "../options/model-options.js";
import { type SandboxOptions, toConfig } from "../options/sandbox-config.js";
import { complain, describeFailure, invalidInput, writeJson } from "../terminal/report-error.js";
import { Interruption } from "../terminal/signals.js";
import { GuestText } from "../terminal/terminal.js";
import { readOutputSchema } from "./output-schema.js";
import { RunProgress } from "./progress.js";
import { openSpanExport } from "./span-export.js";

export interface RunOptions extends SandboxOptions, ModelOptions, BudgetOptions {
  readonly context?: readonly string[];
  readonly outputSchema?: string;
  readonly record?: string;
  readonly force?: true;
  readonly replay?: string;
  readonly trace?: string;
  readonly json?: true;
}

export async function answerQuestion(question: string, options: RunOptions): Promise<number> {
  if (question.trim() === "") throw invalidInput("the question is empty", "Ask something.");
  const models = modelsOrReplay(options);
  const { outputSchema } = options;
  const output = outputSchema === undefined ? undefined : await readOutputSchema(outputSchema);
  using interruption = new Interruption();
  const { signal } = interruption;
  // Opened before the progress, so that its warnings come after that line is cleared.
  await using _spans = await openSpanExport(complain);
  using progress = new RunProgress(process.stderr);
  await using loaded = await progress.loadContext(options.context, signal);
  if (options.record !== undefined) await makeWay(options.record, options.force);
  const result = await rlm({
    query: question,
    ...(loaded !== undefined && { context: loaded.context, about: loaded.description }),
    ...models,
    budget: budgetOf(options),
    output,
    config: { ...toConfig(options), poolSize: 0, signal },
    record: options.record,
    trace: options.trace,
    signal,
    onEvent: (event) => progress.update(event),
  });
  progress.clear();
  if (options.json === true) {
    writeJson(resultJson(result));
    // A divergence is for people to read.
    if (result.error?.code === "CONFLICT") complain(result.error.message, result.error.remedy);
  } else showResult(result, output !== undefined);
  progress.finish(result);
  if (options.record !== undefined) await tellFile(options.record);
  return exitCodeOfRun(result);
}

function modelsOrReplay(options: RunOptions): Pick<RLMOptions, "model" | "subModel" | "replay"> {
  const { replay, record, model, subModel, subBaseUrl } = options;
  if (replay === undefined) {
    const models = modelsOf(options);
    requirePrices(options, models);
    return models;
  }
  const given = Object.entries({
    "--record": record,
    "--model": model,
    "--sub-model": subModel,
    "--sub-base-url": subBaseUrl,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (given.length === 0) return { replay };
  throw invalidInput(
    `--replay takes its models from the recording, and cannot be combined with ${given.join(", ")}`,
    `Remove --replay or ${given.join(", ")}.`,
  );
}

function showResult({ status, answer, output, error, turns }: RLMResult, isData: boolean): void {
  if (answer !== null) {
    const stdout = new GuestText(process.stdout);
    const isInForm = isData && output !== undefined;
    stdout.write(`${isInForm ? JSON.stringify(plainOf(output).value) : answer}\n`);
    stdout.finish();
  }
  switch (status) {
    case "answered":
      return;
    case "out-of-turns":
      complain(
        `all turns are used (${turns}); this is the best answer so far`,
        "allow more with --max-turns N",
      );
      return;
    case "out-of-budget":
      complain(
        "the budget is used up, and there is no answer yet",
        "allow more with --max-calls, --max-tokens, --max-seconds or --max-dollars",
      );
      return;
    case "cancelled":
      complain("the run was cancelled");
      return;
    case "failed":
      complain(error?.message ?? "the run failed", error?.remedy);
      return;
    default:
      status satisfies never;
  }
}

function resultJson(result: RLMResult): object {
  const { status, answer, output, turns, usage, usageByDepth, error } = result;
  return {
    status,
    answer,
    output: plainOf(output ?? null).value,
    turns,
    usage,
    usageByDepth: Object.fromEntries(usageByDepth),
    error: error === undefined ? null : describeFailure(error),
  };
}

/** A failure of the model or a diverging replay is not a failure of Cellar. */
function exitCodeOfRun({ status, error }: RLMResult): number {
  if (status === "answered") return EXIT.ok;
  if (status === "cancelled") return EXIT.cancelled;
  const isTheirs = error?.code === "REMOTE_ERROR" || error?.code === "CONFLICT";
  return status === "failed" && error !== undefined && !isTheirs ? exitCodeFor(error) : EXIT.failed;
}
