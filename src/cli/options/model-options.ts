import { type Command, InvalidArgumentError, Option } from "commander";
import { collect, parseCount, parseSeconds } from "./sandbox-options.js";

interface OneModel {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly keyEnv?: string;
  readonly anthropic?: true;
  readonly priceIn?: number;
  readonly priceOut?: number;
  readonly window?: number;
}

/** Each option exists for the model and, as `--sub-…`, for the sub-model. */
export type ModelOptions = OneModel & {
  readonly [Name in keyof OneModel as `sub${Capitalize<Name>}`]: OneModel[Name];
};

export interface BudgetOptions {
  readonly maxTurns?: number;
  readonly depth?: number;
  readonly maxCalls?: number;
  readonly maxTokens?: number;
  /** Milliseconds. */
  readonly maxSeconds?: number;
  readonly maxDollars?: number;
}

export const CELL_TIMEOUT = "600s with a context, else 120s";

export function contextOption(): Option {
  return new Option(
    "--context <source>",
    "what it is about: a FILE, DIR, URL or - (repeatable)",
  ).argParser(collect);
}

/** The options that everything with a model shares; `--model` itself is said to be needed or not. */
export function addModelOptions(command: Command): Command {
  return command
    .option("--model <name>", "the model, as its endpoint names it")
    .option("--base-url <url>", "an endpoint of your own, up to and with its version")
    .option("--key-env <name>", "the environment variable that has the key")
    .option("--anthropic", "the endpoint speaks Anthropic's messages, not OpenAI's chat")
    .option("--price-in <dollars>", "price of a million tokens of prompts", parseDollars(0))
    .option("--price-out <dollars>", "price of a million tokens of answers", parseDollars(0))
    .option("--window <n>", "tokens that the model can see at once", parseCount(1))
    .option("--sub-model <name>", "answers llm_query and runs the loops below (default: --model)")
    .option("--sub-base-url <url>", "its endpoint, if it has another one")
    .option("--sub-key-env <name>", "the variable that has the key for it")
    .option("--sub-anthropic", "the endpoint of --sub-base-url speaks Anthropic's messages")
    .option("--sub-price-in <dollars>", "as --price-in, for the sub-model", parseDollars(0))
    .option("--sub-price-out <dollars>", "as --price-out, for the sub-model", parseDollars(0))
    .option("--sub-window <n>", "as --window, for the sub-model", parseCount(1));
}

export function addBudgetOptions(command: Command): Command {
  return command
    .option("--max-turns <n>", "turns of each loop (default: 30)", parseCount(1))
    .option("--depth <n>", "how deep loops may start loops (default: 1)", parseCount(0))
    .option("--max-calls <n>", "requests to models in all", parseCount(1))
    .option("--max-tokens <n>", "tokens of prompts and answers in all", parseCount(1))
    .option(
      "--max-seconds <time>",
      "after which no more requests are made, as 90s, 10m; a bare number is seconds",
      parseSeconds,
    )
    .option("--max-dollars <n>", "dollars in all; needs prices", parseDollars(Number.MIN_VALUE));
}

const MOST_DOLLARS = 1_000_000;

function parseDollars(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d*\.?\d+$/.test(text) && value >= least && value <= MOST_DOLLARS) return value;
    throw new InvalidArgumentError(
      least > 0 ? "It is not a number of dollars greater than 0." : "It is not a price in dollars.",
    );
  };
}
