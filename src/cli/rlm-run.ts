import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { plainOf } from "../agent/plain-value.js";
import { describeError } from "../errors.js";
import type { Budget } from "../rlm/budget.js";
import type { Model } from "../rlm/model.js";
import { anthropicMessages } from "../rlm/models/anthropic.js";
import { openAIChat } from "../rlm/models/openai-chat.js";
import { type RLMOptions, type RLMResult, rlm } from "../rlm/rlm.js";
import { EXIT, exitCodeFor } from "./exit-codes.js";
import { complain, describeFailure, invalidInput, writeJson } from "./failures.js";
import { Interruption } from "./process-end.js";
import { RunProgress } from "./rlm-progress.js";
import { type SandboxOptions, toConfig } from "./sandbox-config.js";
import { GuestText } from "./terminal.js";

export interface RunOptions extends SandboxOptions {
  readonly model: string;
  readonly context?: string;
  readonly subModel?: string;
  readonly baseUrl?: string;
  readonly keyEnv?: string;
  readonly anthropic?: true;
  readonly maxTurns?: number;
  readonly depth?: number;
  readonly maxCalls?: number;
  readonly maxTokens?: number;
  /** Milliseconds. */
  readonly maxSeconds?: number;
  readonly trace?: string;
  readonly json?: true;
}

/** Lets a model answer, shows the answer, and gives the exit code. */
export async function answerQuestion(question: string, options: RunOptions): Promise<number> {
  if (question.trim() === "") throw invalidInput("the question is empty", "Ask something.");
  const { context, subModel } = options;
  if (context !== undefined) await requireFile(context);
  using interruption = new Interruption();
  const { signal } = interruption;
  const result = await withProgress({
    query: question,
    ...(context !== undefined && { context: { file: context } }),
    model: modelOf(options.model, options),
    subModel: subModel === undefined ? undefined : modelOf(subModel, options),
    budget: budgetOf(options),
    config: { ...toConfig(options), poolSize: 0, signal },
    trace: options.trace,
    signal,
  });
  if (options.json === true) writeJson(resultJson(result));
  else showResult(result);
  return exitCodeOfRun(result);
}

async function withProgress(options: RLMOptions): Promise<RLMResult> {
  using progress = new RunProgress(process.stderr);
  return await rlm({ ...options, onEvent: (event) => progress.hear(event) });
}

/** Before anything is started: a name that is mistyped should not take seconds to be found. */
async function requireFile(path: string): Promise<void> {
  const problem = await access(path, constants.R_OK)
    .then(() => stat(path))
    .then(
      (found) => (found.isDirectory() ? "it is a folder" : undefined),
      (error: unknown) => describeError(error),
    );
  if (problem === undefined) return;
  throw invalidInput(`${path} cannot be read: ${problem}`, "Give --context a file of text.");
}

function modelOf(name: string, { baseUrl, keyEnv, anthropic }: RunOptions): Model {
  const key = keyEnv === undefined ? undefined : { env: keyEnv };
  const options = { model: name, baseUrl, key };
  return anthropic === true ? anthropicMessages(options) : openAIChat(options);
}

function budgetOf({ maxTurns, depth, maxCalls, maxTokens, maxSeconds }: RunOptions): Budget {
  return {
    turns: maxTurns,
    depth,
    calls: maxCalls,
    tokens: maxTokens,
    seconds: maxSeconds === undefined ? undefined : maxSeconds / 1000,
  };
}

function showResult({ how, answer, error, turns }: RLMResult): void {
  if (answer !== null) {
    const stdout = new GuestText(process.stdout);
    stdout.write(`${answer}\n`);
    stdout.finish();
  }
  switch (how) {
    case "answered":
      return;
    case "out-of-turns":
      complain(
        `the turns are over (${turns}); this is the best answer by then`,
        "allow more with --max-turns N",
      );
      return;
    case "out-of-budget":
      complain(
        "the budget is used up, and there is no answer yet",
        "allow more with --max-calls, --max-tokens or --max-seconds",
      );
      return;
    case "cancelled":
      complain("the run was cancelled");
      return;
    case "failed":
      complain(error?.message ?? "the run failed", error?.remedy);
      return;
    default:
      how satisfies never;
  }
}

function resultJson(result: RLMResult): object {
  const { how, answer, output, turns, usage, usageByDepth, error } = result;
  return {
    how,
    answer,
    output: plainOf(output ?? null).value,
    turns,
    usage,
    usageByDepth: Object.fromEntries(usageByDepth),
    error: error === undefined ? null : describeFailure(error),
  };
}

/** What a model or its endpoint did wrong is no fault of Cellar's. */
function exitCodeOfRun({ how, error }: RLMResult): number {
  if (how === "answered") return EXIT.ok;
  if (how === "cancelled") return EXIT.cancelled;
  const isOurs = how === "failed" && error !== undefined && error.code !== "REMOTE_ERROR";
  return isOurs ? exitCodeFor(error.code) : EXIT.failed;
}
