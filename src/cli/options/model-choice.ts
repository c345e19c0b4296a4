import type { Budget } from "../../rlm/budget/budget.js";
import type { Model, Price } from "../../rlm/model.js";
import { anthropicMessages } from "../../rlm/models/anthropic.js";
import { openAIChat } from "../../rlm/models/openai-chat.js";
import { invalidInput } from "../terminal/report-error.js";
import type { BudgetOptions, ModelOptions } from "./model-options.js";

/** The models of a command line; refused are options that would say nothing. */
export function modelsOf(options: ModelOptions): {
  readonly model: Model;
  readonly subModel: Model | undefined;
} {
  if (options.model === undefined || options.model === "") {
    throw invalidInput("no model was given", "Name one with --model NAME.");
  }
  return { model: modelOf(options.model, options), subModel: subModelOf(options) };
}

export function modelOf(name: string, options: ModelOptions): Model {
  const { baseUrl, keyEnv, anthropic, priceIn, priceOut, window } = options;
  return endpointModel(anthropic === true, {
    model: name,
    baseUrl,
    key: keyOf(keyEnv),
    price: priceOf(priceIn, priceOut, "--price-in and --price-out"),
    contextWindow: window,
  });
}

export function subModelOf(options: ModelOptions): Model | undefined {
  const { model, subModel, subBaseUrl, subPriceIn, subPriceOut } = options;
  if (subModel === undefined && subBaseUrl === undefined) {
    refuseUnused(options);
    return undefined;
  }
  const isElsewhere = subBaseUrl !== undefined;
  return endpointModel(isElsewhere ? options.subAnthropic === true : options.anthropic === true, {
    model: subModel ?? model ?? "",
    baseUrl: subBaseUrl ?? options.baseUrl,
    // Never send one address's key to another.
    key: keyOf(options.subKeyEnv ?? (isElsewhere ? undefined : options.keyEnv)),
    price: priceOf(subPriceIn, subPriceOut, "--sub-price-in and --sub-price-out"),
    contextWindow: options.subWindow,
  });
}

export function budgetOf(options: BudgetOptions): Budget {
  const { maxTurns, depth, maxCalls, maxTokens, maxSeconds, maxDollars } = options;
  return {
    turns: maxTurns,
    depth,
    calls: maxCalls,
    tokens: maxTokens,
    seconds: maxSeconds === undefined ? undefined : maxSeconds / 1000,
    dollars: maxDollars,
  };
}

/** Told in the words of the command line, before anything starts. */
export function requirePrices(
  { maxDollars }: BudgetOptions,
  { model, subModel }: { readonly model: Model; readonly subModel: Model | undefined },
): void {
  if (maxDollars === undefined) return;
  const needed = [
    ...(model.price === undefined ? ["--price-in and --price-out"] : []),
    ...(subModel !== undefined && subModel.price === undefined
      ? ["--sub-price-in and --sub-price-out"]
      : []),
  ];
  if (needed.length === 0) return;
  throw invalidInput(
    "--max-dollars needs to know what the tokens cost",
    `Give ${needed.join(", ")}: dollars for a million tokens. Or use --max-tokens.`,
  );
}

function endpointModel(
  isAnthropic: boolean,
  options: Parameters<typeof openAIChat>[0] & Parameters<typeof anthropicMessages>[0],
): Model {
  return isAnthropic ? anthropicMessages(options) : openAIChat(options);
}

function keyOf(name: string | undefined): { env: string } | undefined {
  return name === undefined ? undefined : { env: name };
}

function priceOf(
  input: number | undefined,
  output: number | undefined,
  names: string,
): Price | undefined {
  if (input === undefined && output === undefined) return undefined;
  if (input !== undefined && output !== undefined) {
    return { inputPerMillion: input, outputPerMillion: output };
  }
  throw invalidInput("give both an input and an output price", `Give both ${names}.`);
}

function refuseUnused(options: ModelOptions): void {
  const given = Object.entries({
    "--sub-key-env": options.subKeyEnv,
    "--sub-anthropic": options.subAnthropic,
    "--sub-price-in": options.subPriceIn,
    "--sub-price-out": options.subPriceOut,
    "--sub-window": options.subWindow,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (given.length === 0) return;
  throw invalidInput(
    `${given.join(", ")}: no sub-model was given`,
    "Name it with --sub-model or --sub-base-url.",
  );
}
