import { z } from "zod";
import type { AgentOptions } from "../agent/options.js";
import type { REPLConfig } from "../backends/backend.js";
import type { HostTools, ToolProvider } from "../backends/host-tools/host-tool.js";
import {
  checkNames,
  type OptionNames,
  requireFunction,
  requireOptions,
  requireText,
} from "../config/kinds.js";
import { sandboxNotice } from "../config/setting-names.js";
import { CellarError } from "../errors.js";
import type { Budget } from "./budget/budget.js";
import type { Model } from "./model.js";
import type { TraceEvent } from "./trace/events.js";

export interface RLMSessionOptions {
  /** A text, a value, or `{ file }`: what the questions are about. The model never sees it as a whole. */
  readonly context?: unknown;
  /** What the context is, in a line for the model. */
  readonly about?: string | undefined;
  /** Required, except with `replay`. */
  readonly model?: Model | undefined;
  /** Answers `llm_query` and runs the loops below. Default: the same model. */
  readonly subModel?: Model | undefined;
  /** Others that `llm_query(prompt, model="name")` and `rlm_query(task, model="name")` may name. */
  readonly models?: Readonly<Record<string, Model>> | undefined;
  /** Functions that Python may call; tools of the AI SDK work as they are. */
  readonly tools?: HostTools | ToolProvider | undefined;
  /** Of all questions together. */
  readonly budget?: Budget | undefined;
  /** How deep loops may start loops; the same as `budget.depth`. */
  readonly depth?: number | undefined;
  /** Fraction of the context window at which the conversation is compacted. Default: 0.75. */
  readonly compactAt?: number | undefined;
  /** Settings of the sandboxes. */
  readonly config?: REPLConfig | undefined;
  /** Settings of the agents' REPLs. */
  readonly agent?: AgentOptions | undefined;
  readonly onEvent?: ((event: TraceEvent) => void) | undefined;
  /** A file to which the trace is appended. */
  readonly trace?: string | undefined;
  /** A new file for all requests and answers of the models. */
  readonly record?: string | undefined;
  /** A recording that answers instead of the models; the first difference ends the run. */
  readonly replay?: string | undefined;
}

export const SESSION_OPTIONS: OptionNames<RLMSessionOptions> = {
  context: true,
  about: true,
  model: true,
  subModel: true,
  models: true,
  tools: true,
  budget: true,
  depth: true,
  compactAt: true,
  config: true,
  agent: true,
  onEvent: true,
  trace: true,
  record: true,
  replay: true,
};

export interface AskOptions<T = unknown> {
  /** The schema of the answer; the model gets another try if its answer does not match. */
  readonly output?: z.ZodType<T> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function checkSessionOptions(options: RLMSessionOptions): void {
  requireOptions("the options of a session", options, "{ model, context }");
  checkNames("rlm", options, SESSION_OPTIONS, sandboxNotice);
  const { models, config, agent, budget, onEvent, trace, record, replay } = options;
  for (const [name, value] of Object.entries({ models, config, agent, budget })) {
    if (value !== undefined) requireOptions(name, value);
  }
  for (const [name, value] of Object.entries({ trace, record, replay })) {
    if (value !== undefined) requireText(name, value);
  }
  if (onEvent !== undefined) requireFunction("onEvent", onEvent);
}

export function shareOf(compactAt: number | undefined): number {
  const parsed = z.number().gt(0).max(1).default(0.75).safeParse(compactAt);
  if (parsed.success) return parsed.data;
  throw new CellarError(
    "INVALID_CONFIG",
    `compactAt must be above 0 and at most 1, not ${String(compactAt)}`,
    {
      remedy: "Give a fraction of the context window, such as 0.75.",
    },
  );
}
