import { setTimeout as sleep } from "node:timers/promises";
import { checkNames, type OptionNames, requireList, requireOptions } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import type { Model, ModelReply, ModelRequest, ModelUsage } from "../model.js";
import { type FunctionModelOptions, functionModel } from "./function-model.js";
import { estimateUsage } from "./reply-builder.js";

const MAX_QUOTED = 80;

type PlainRequest = Pick<ModelRequest, "messages" | "maxTokens" | "temperature" | "stop">;

export interface ScriptedAnswer {
  /** An error is thrown instead. */
  readonly text: string | Error | ((request: PlainRequest) => string);
  /** Default: fits any request. */
  readonly when?: ((request: PlainRequest) => boolean) | undefined;
  /** Used as often as it fits, not only once. */
  readonly repeat?: boolean | undefined;
  readonly usage?: Partial<ModelUsage> | undefined;
  readonly finish?: ModelReply["finish"] | undefined;
  readonly delay?: number | undefined;
}

const ANSWER_OPTIONS: OptionNames<ScriptedAnswer> = {
  text: true,
  when: true,
  repeat: true,
  usage: true,
  finish: true,
  delay: true,
};

export interface ScriptedModel extends Model {
  /** All requests so far, the oldest first. */
  readonly requests: readonly PlainRequest[];
  /** How many answers are unused, without those that repeat. */
  readonly left: number;
}

/** Answers with the first unused answer that fits the request. */
export function scripted(
  answers: readonly (string | ScriptedAnswer)[],
  options: FunctionModelOptions = {},
): ScriptedModel {
  const name = requireOptions("the options of a model", options).name ?? "scripted";
  const waiting: ScriptedAnswer[] = requireList("answers", answers).map((answer) =>
    typeof answer === "string"
      ? { text: answer }
      : checkNames("an answer", requireOptions("an answer", answer), ANSWER_OPTIONS),
  );
  const requests: PlainRequest[] = [];
  const model = functionModel(
    async ({ signal, onText: _, ...request }) => {
      const matter = { ...request, messages: request.messages.map((message) => ({ ...message })) };
      requests.push(matter);
      const answer = take(waiting, matter, requests.length);
      if (answer.delay !== undefined) await sleep(answer.delay, undefined, { signal });
      return replyTo(matter, answer, name);
    },
    { ...options, name },
  );
  return {
    ...model,
    get requests() {
      return requests;
    },
    get left() {
      return waiting.filter(({ repeat }) => repeat !== true).length;
    },
  };
}

function take(waiting: ScriptedAnswer[], request: PlainRequest, number: number): ScriptedAnswer {
  const index = waiting.findIndex(({ when }) => when === undefined || when(request));
  const answer = waiting[index];
  if (answer !== undefined) {
    if (answer.repeat !== true) waiting.splice(index, 1);
    return answer;
  }
  const asked = JSON.stringify((request.messages.at(-1)?.content ?? "").slice(0, MAX_QUOTED));
  throw new CellarError("NOT_FOUND", `the script has no answer to request ${number}: ${asked}`, {
    remedy:
      waiting.length === 0
        ? "All its answers were given: add one more, or let one repeat."
        : "None of the answers that are left fits: look at what `when` asks for.",
    details: { request: number, left: waiting.length },
  });
}

async function replyTo(
  request: PlainRequest,
  { text, usage, finish = "stop" }: ScriptedAnswer,
  model: string,
): Promise<ModelReply> {
  if (text instanceof Error) throw text;
  const said = typeof text === "string" ? text : text(request);
  const { inputTokens, outputTokens, isEstimate = false } = usage ?? {};
  if (inputTokens !== undefined && outputTokens !== undefined) {
    return { text: said, usage: { inputTokens, outputTokens, isEstimate }, finish, model };
  }
  const estimate = await estimateUsage(request.messages, said);
  return { text: said, usage: { ...estimate, ...usage }, finish, model };
}
