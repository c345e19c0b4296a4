import type { AgentOptions } from "../agent/agent-options.js";
import { AgentRepl, type Turn } from "../agent/agent-repl.js";
import { plainOf } from "../agent/plain-value.js";
import type { REPLConfig } from "../backends/backend.js";
import { CellarError, describeError } from "../errors.js";
import { BudgetExceeded } from "./budget.js";
import type { Caller } from "./caller.js";
import { readResponse } from "./dialect.js";
import type { Model, ModelMessage } from "./model.js";
import {
  EARLY_FINAL,
  EMPTY_ANSWER,
  firstMessage,
  LAST_TURN,
  NO_CODE,
  PRELUDE,
  systemPrompt,
  turnMessage,
} from "./prompts.js";
import type { Span } from "./trace.js";

/** What all loops of a tree share. */
export interface Tree {
  readonly caller: Caller;
  readonly model: Model;
  readonly subModel: Model;
  /** Others that `llm_query` may name. */
  readonly models: Readonly<Record<string, Model>>;
  readonly turns: number;
  readonly config: REPLConfig;
  readonly agent: AgentOptions;
  readonly signal: AbortSignal | undefined;
}

export interface Answer {
  readonly text: string;
  readonly value: unknown;
}

export interface Ended {
  readonly how: "answered" | "out-of-turns" | "out-of-budget";
  readonly answer: Answer | undefined;
  readonly turns: number;
  /** Which budget it was. */
  readonly error?: BudgetExceeded | undefined;
}

/** Judges an answer; what it gives back is told to the model, which then goes on. */
export type Judge = (answer: Answer) => string | undefined;

type Said =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "go-on"; readonly observations: readonly string[]; readonly notes: string[] };

/** One model and its REPL, turn by turn, until there is an answer or nothing is left. */
export class Loop {
  readonly #tree: Tree;
  readonly #depth: number;
  readonly #span: Span;
  readonly #messages: ModelMessage[] = [];
  /** Begun when it failed. */
  turns = 0;

  constructor(tree: Tree, depth: number, span: Span) {
    this.#tree = tree;
    this.#depth = depth;
    this.#span = span;
  }

  async run(query: string, context: unknown, judge: Judge = () => undefined): Promise<Ended> {
    await using repl = await this.#open(context);
    const { caller, turns } = this.#tree;
    const hasChildren = caller.ledger.allowsDepth(this.#depth + 1);
    this.#messages.push(
      { role: "system", content: systemPrompt(hasChildren) },
      { role: "user", content: firstMessage(query, await repl.state(), this.#left(1)) },
    );
    let turn = 0;
    try {
      while (turn < turns) {
        turn += 1;
        const span = this.#span.child();
        span.emit({ type: "turn.started", turn, turns });
        const said = await this.#take(repl, span, judge);
        if (said.kind === "answer") return { how: "answered", answer: said.answer, turns: turn };
        const notes = [...said.notes, this.#left(turn + 1)].filter((note) => note !== "");
        const content = turnMessage(turn + 1, turns, { observations: said.observations, notes });
        this.#messages.push({ role: "user", content });
      }
      return { how: "out-of-turns", answer: await this.#last(), turns: turn };
    } catch (error) {
      this.turns = turn;
      if (!(error instanceof BudgetExceeded)) throw error;
      return { how: "out-of-budget", answer: undefined, turns: turn, error };
    }
  }

  async #open(context: unknown): Promise<AgentRepl> {
    const { config, agent } = this.#tree;
    const repl = await AgentRepl.open({
      ...agent,
      context,
      config: {
        ...config,
        onLLMQuery: (prompt, { signal, model }) => this.#askSub(prompt, signal, model),
        onRLMQuery: (task, given, { signal }) => this.#askChild(task, given, signal),
      },
    });
    try {
      await repl.prepare(PRELUDE);
      return repl;
    } catch (error) {
      await repl.close();
      throw error;
    }
  }

  #left(turn: number): string {
    return this.#tree.caller.ledger.describe({ turn, depth: this.#depth });
  }

  /** One request, and what its response asks for. */
  async #take(repl: AgentRepl, span: Span, judge: Judge): Promise<Said> {
    const { text } = await this.#ask(span);
    this.#messages.push({ role: "assistant", content: text });
    const response = readResponse(text);
    switch (response.kind) {
      case "code": {
        const notes = response.early === undefined ? [] : [EARLY_FINAL];
        const codes = response.blocks.map(({ code }) => code);
        return await this.#runAll(repl, span, codes, { text, notes, judge });
      }
      case "finish": {
        const { finish } = response;
        if (finish.via === "FINAL") return judged({ text: finish.text, value: finish.text }, judge);
        const code = `FINAL_VAR(${JSON.stringify(finish.name)})`;
        return await this.#runAll(repl, span, [code], { text, notes: [], judge });
      }
      case "prose": {
        const ignored = response.ignored.map((language) => `A fence of ${language} is not run.`);
        return { kind: "go-on", observations: [], notes: [...ignored, NO_CODE] };
      }
      default:
        return response satisfies never;
    }
  }

  async #runAll(
    repl: AgentRepl,
    span: Span,
    codes: readonly string[],
    { text, notes, judge }: { text: string; notes: string[]; judge: Judge },
  ): Promise<Said> {
    const observations: string[] = [];
    for (const [index, code] of codes.entries()) {
      const ran = await this.#run(repl, span, code, index === 0 ? text : "");
      const answer = await answerIn(repl, ran);
      if (typeof answer === "object") {
        const said = judged(answer, judge);
        if (said.kind === "answer") return said;
        notes.push(...said.notes);
      } else if (answer !== undefined) notes.push(answer);
      observations.push(ran.observation);
    }
    return { kind: "go-on", observations, notes };
  }

  async #run(repl: AgentRepl, span: Span, code: string, text: string): Promise<Turn> {
    const part = span.child();
    part.emit({ type: "code.started", code });
    const ran = await repl.turn(code, { text, signal: this.#tree.signal });
    const { observation, execution } = ran;
    const { status, duration: ms } = execution;
    part.emit({ type: "code.output", observation, status, ms });
    if (status === "cancelled") this.#tree.signal?.throwIfAborted();
    return ran;
  }

  #ask(span: Span) {
    const { caller, model, signal } = this.#tree;
    const messages = this.#messages;
    return caller.ask({ model, messages, kind: "root", depth: this.#depth, span, signal });
  }

  /** What is known when the turns are over. */
  async #last(): Promise<Answer> {
    this.#messages.push({ role: "user", content: LAST_TURN });
    const { text } = await this.#ask(this.#span);
    const response = readResponse(text);
    const isFinal = response.kind === "finish" && response.finish.via === "FINAL";
    const answer = isFinal ? response.finish.text : text.trim();
    return { text: answer, value: answer };
  }

  async #askSub(prompt: string, signal: AbortSignal, name?: string): Promise<string> {
    const { caller } = this.#tree;
    const model = this.#modelNamed(name);
    return this.#sub("llm", prompt, this.#span, async (span) => {
      const messages = [{ role: "user", content: prompt }] as const;
      const depth = this.#depth;
      const question = { model, messages, kind: "sub", depth, span, signal } as const;
      return (await caller.ask(question)).text;
    });
  }

  #modelNamed(name: string | undefined): Model {
    const { subModel, models } = this.#tree;
    if (name === undefined || name === subModel.name) return subModel;
    const named = Object.hasOwn(models, name) ? models[name] : undefined;
    if (named !== undefined) return named;
    const known = [subModel.name, ...Object.keys(models)].join(", ");
    throw new CellarError(
      "NOT_FOUND",
      `there is no model ${JSON.stringify(name)}; there are: ${known}`,
    );
  }

  /** A loop of its own; where it may not be so deep, one question. */
  async #askChild(task: string, context: unknown, signal: AbortSignal): Promise<string> {
    const depth = this.#depth + 1;
    if (!this.#tree.caller.ledger.allowsDepth(depth)) {
      return this.#askSub(typeof context === "string" ? `${task}\n\n${context}` : task, signal);
    }
    const deeper = this.#span.child({ deeper: true });
    return this.#sub("rlm", task, deeper, async (span) => {
      const tree = { ...this.#tree, model: this.#tree.subModel, signal };
      const { answer } = await new Loop(tree, depth, span).run(task, context);
      if (answer !== undefined) return answer.text;
      throw new CellarError("LIMIT_REACHED", "the budget ended before there was an answer");
    });
  }

  async #sub(
    kind: "llm" | "rlm",
    prompt: string,
    parent: Span,
    work: (span: Span) => Promise<string>,
  ): Promise<string> {
    const span = kind === "llm" ? parent.child() : parent;
    span.emit({ type: "sub.started", kind, prompt });
    const began = performance.now();
    try {
      const text = await work(span);
      span.emit({ type: "sub.ended", kind, text, ms: performance.now() - began });
      return text;
    } catch (error) {
      const code = error instanceof CellarError ? error.code : "ERROR";
      const failure = { code, message: describeError(error) };
      span.emit({ type: "sub.ended", kind, error: failure, ms: performance.now() - began });
      throw error;
    }
  }
}

function judged(answer: Answer, judge: Judge): Said {
  const objection = judge(answer);
  if (objection === undefined) return { kind: "answer", answer };
  return { kind: "go-on", observations: [], notes: [objection] };
}

/** The answer that a cell gave, in either dialect; a text tells why there is none. */
async function answerIn(repl: AgentRepl, ran: Turn): Promise<Answer | string | undefined> {
  if (ran.final !== undefined) return { text: ran.final.text, value: ran.final.value };
  if (ran.execution.status !== "ok" || !/\banswer\b/.test(ran.execution.code)) return undefined;
  const answer = await repl.variable("answer");
  if (!isAnswerDict(answer) || answer.ready !== true) return undefined;
  const { content } = answer;
  if (content === "" || content === null || content === undefined) return EMPTY_ANSWER;
  const text = typeof content === "string" ? content : JSON.stringify(plainOf(content).value);
  return { text, value: content };
}

function isAnswerDict(value: unknown): value is { content: unknown; ready: unknown } {
  return typeof value === "object" && value !== null && "content" in value && "ready" in value;
}
