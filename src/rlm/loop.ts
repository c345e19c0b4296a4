import { AgentRepl, type AgentTurn, type TurnOptions } from "../agent/agent-repl.js";
import { plainOf } from "../agent/observation/plain-value.js";
import type { AgentOptions } from "../agent/options.js";
import type { REPLConfig, SandboxInfo } from "../backends/backend.js";
import { UnconvertedValue } from "../protocol/values.js";
import type { InvocationListener } from "../registry/control/invocation-log.js";
import { BudgetExceeded } from "./budget/budget.js";
import type { ModelCaller } from "./budget/model-caller.js";
import { Conversation } from "./conversation.js";
import type { Model } from "./model.js";
import {
  type Abilities,
  EARLY_FINAL,
  EMPTY_ANSWER,
  FINAL_AFTER_FAILURE,
  firstMessage,
  LAST_REQUEST,
  LAST_TURN,
  LONG_ANSWER,
  NEW_ANSWER,
  NO_CODE,
  NO_SUMMARY,
  PREMATURE_FINAL,
  systemPrompt,
  turnMessage,
  WRITE_SUMMARY,
} from "./prompts.js";
import { readResponse, withoutThoughts } from "./response/response.js";
import { SubCalls } from "./sub-calls.js";
import { ToolCalls } from "./tool-calls.js";
import type { Span } from "./trace/trace.js";

/** Shared by all loops of a tree. */
export interface Tree {
  readonly caller: ModelCaller;
  readonly model: Model;
  readonly subModel: Model;
  /** Others that `llm_query` and `rlm_query` may name. */
  readonly models: Readonly<Record<string, Model>>;
  readonly turns: number;
  /** Fraction of the context window at which the conversation is compacted. */
  readonly compactAt: number;
  readonly tools: Abilities["tools"];
  readonly config: REPLConfig;
  readonly agent: AgentOptions;
}

export interface Answer {
  readonly text: string;
  readonly value: unknown;
}

export interface Ended {
  readonly status: "answered" | "out-of-turns" | "out-of-budget";
  readonly answer: Answer | undefined;
  readonly turns: number;
  readonly error?: BudgetExceeded | undefined;
}

/** Returns an objection for the model, or undefined to accept the answer. */
export type Judge = (answer: Answer) => string | undefined;

export interface Task {
  readonly query: string;
  /** Describes the context. */
  readonly about?: string | undefined;
  /** The JSON Schema of the answer. */
  readonly form?: string | undefined;
  readonly span: Span;
  readonly signal: AbortSignal;
  readonly judge?: Judge | undefined;
}

type Said =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "go-on"; readonly observations: readonly string[]; readonly notes: string[] };

/** A model and its REPL, which take turns until there is an answer. */
export class Loop implements AsyncDisposable {
  readonly #tree: Tree;
  readonly #depth: number;
  readonly #repl: AgentRepl;
  readonly #subs: SubCalls;
  readonly #toolCalls: ToolCalls;
  readonly #conversation = new Conversation();
  #asked = 0;
  /** Turns of the current question, also if it fails. */
  turns = 0;

  private constructor(
    tree: Tree,
    depth: number,
    parts: { repl: AgentRepl; subs: SubCalls; toolCalls: ToolCalls },
  ) {
    this.#tree = tree;
    this.#depth = depth;
    this.#repl = parts.repl;
    this.#subs = parts.subs;
    this.#toolCalls = parts.toolCalls;
  }

  static async open(tree: Tree, depth: number, context: unknown): Promise<Loop> {
    const subs = new SubCalls(tree, depth, (...order) => Loop.open(...order));
    const { agent } = tree;
    const toolCalls = new ToolCalls(agent.redact);
    const onInvocation: InvocationListener = (invocation) => {
      toolCalls.onInvocation(invocation);
      agent.onInvocation?.(invocation);
    };
    const { onLLMQuery, onRLMQuery } = subs;
    const config = { ...tree.config, onLLMQuery, onRLMQuery };
    const repl = await AgentRepl.open({ ...agent, onInvocation, context, config });
    try {
      await repl.prepare(NEW_ANSWER);
      return new Loop(tree, depth, { repl, subs, toolCalls });
    } catch (error) {
      await repl.close();
      throw error;
    }
  }

  get info(): SandboxInfo {
    return this.#repl.info;
  }

  async ask(task: Task): Promise<Ended> {
    const { turns } = this.#tree;
    this.turns = 0;
    this.#subs.serve(task);
    await this.#begin(task);
    try {
      while (this.turns < turns) {
        this.turns += 1;
        const span = task.span.child();
        span.emit({ type: "turn.started", turn: this.turns, turns });
        const said = await this.#take(task, span);
        if (said.kind === "answer")
          return { status: "answered", answer: said.answer, turns: this.turns };
        const place = { turn: this.turns + 1, depth: this.#depth };
        span.emit({ type: "budget", left: this.#tree.caller.ledger.remaining(place) });
        const notes = [...said.notes, this.#left(this.turns + 1)].filter((note) => note !== "");
        const parts = { observations: said.observations, notes };
        this.#conversation.tell(turnMessage(this.turns + 1, turns, parts));
      }
      return { status: "out-of-turns", answer: await this.#last(task), turns: this.turns };
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      return { status: "out-of-budget", answer: undefined, turns: this.turns, error };
    }
  }

  async #begin({ query, about, form }: Task): Promise<void> {
    this.#asked += 1;
    // The previous answer must not answer this question.
    if (this.#asked > 1) await this.#repl.prepare(NEW_ANSWER);
    const { caller, tools } = this.#tree;
    const hasChildren = caller.ledger.allowsDepth(this.#depth + 1);
    this.#conversation.begin(
      systemPrompt({ hasChildren, tools }),
      firstMessage(query, { about, form, state: await this.#repl.state(), budget: this.#left(1) }),
    );
  }

  #left(turn: number): string {
    return this.#tree.caller.ledger.describe({ turn, depth: this.#depth });
  }

  /** One request, and the code of its response. */
  async #take(task: Task, span: Span): Promise<Said> {
    // A last request is for the answer.
    if (!this.#isLast) await this.#compact(task, span);
    if (this.#isLast) this.#conversation.tell(LAST_REQUEST);
    const text = await this.#ask(task, span);
    const response = readResponse(text);
    switch (response.kind) {
      case "code": {
        const notes = response.early === undefined ? [] : [EARLY_FINAL];
        const codes = response.blocks.map(({ code }) => code);
        return await this.#runAll(task, span, codes, { text, notes });
      }
      case "finish": {
        const { finish } = response;
        if (finish.via === "FINAL") return judged({ text: finish.text, value: finish.text }, task);
        const codes = [finalVar(finish.name)];
        return await this.#runAll(task, span, codes, { text, notes: [] });
      }
      case "prose": {
        const ignored = response.ignored.map((language) => `A fence of ${language} is not run.`);
        return { kind: "go-on", observations: [], notes: [...ignored, NO_CODE] };
      }
      default:
        return response satisfies never;
    }
  }

  get #isLast(): boolean {
    const { caller, model } = this.#tree;
    return this.#depth === 0 && caller.isLast(model, this.#conversation.messages);
  }

  async #runAll(
    task: Task,
    span: Span,
    codes: readonly string[],
    { text, notes }: { text: string; notes: string[] },
  ): Promise<Said> {
    const observations: string[] = [];
    const sight = { hasOutput: false, hasFailed: false };
    for (const [index, code] of codes.entries()) {
      const isFirst = index === 0;
      const ran = await this.#run(task, span, code, isFirst ? { text } : { continues: true });
      const { outputs, result, status } = ran.execution;
      const failedBefore = sight.hasFailed;
      sight.hasOutput ||= outputs.length > 0 || result !== null;
      sight.hasFailed ||= status !== "ok";
      const answer = await answerIn(this.#repl, ran);
      observations.push(ran.observation);
      if (answer === undefined) continue;
      if (typeof answer === "string") notes.push(answer);
      else if (failedBefore) notes.push(FINAL_AFTER_FAILURE);
      else if (sight.hasOutput && ran.isLiteralAnswer) notes.push(PREMATURE_FINAL);
      else {
        const said = judged(answer, task);
        if (said.kind === "answer") return said;
        notes.push(...said.notes);
      }
    }
    return { kind: "go-on", observations, notes };
  }

  async #run(
    { signal }: Task,
    span: Span,
    code: string,
    options: Pick<TurnOptions, "text" | "continues">,
  ): Promise<AgentTurn> {
    const part = span.child();
    part.emit({ type: "code.started", code });
    this.#toolCalls.begin(part);
    const ran = await this.#repl.turn(code, { ...options, signal });
    const omittedCalls = await this.#toolCalls.settled();
    const { observation, execution, chain } = ran;
    const { status, duration: ms } = execution;
    part.emit({
      type: "code.output",
      observation,
      status,
      ...(chain !== undefined && { chain }),
      ...(omittedCalls > 0 && { omittedCalls }),
      ms,
    });
    if (status === "cancelled") signal.throwIfAborted();
    return ran;
  }

  async #ask({ signal }: Task, span: Span): Promise<string> {
    const { caller, model } = this.#tree;
    const { messages } = this.#conversation;
    const question = { model, messages, kind: "root", depth: this.#depth, span, signal } as const;
    const { text } = await caller.ask(question);
    this.#conversation.hear(text);
    return text;
  }

  /** Asks for an answer when the turns are used up. */
  async #last(task: Task): Promise<Answer | undefined> {
    this.#conversation.tell(LAST_TURN);
    const text = await this.#ask(task, task.span);
    const answer = (await this.#named(task, text)) ?? proseAnswer(text);
    // Too late for an objection, but a valid answer still gets parsed.
    if (answer !== undefined) task.judge?.(answer);
    return answer;
  }

  async #named(task: Task, text: string): Promise<Answer | undefined> {
    const response = readResponse(text);
    if (response.kind !== "finish" || response.finish.via === "FINAL") return undefined;
    const ran = await this.#run(task, task.span, finalVar(response.finish.name), { text });
    const answer = await answerIn(this.#repl, ran);
    return typeof answer === "string" ? undefined : answer;
  }

  /** Replaces a conversation that nears the context window by a summary. */
  async #compact({ signal }: Task, span: Span): Promise<void> {
    const { caller, model, compactAt } = this.#tree;
    const conversation = this.#conversation;
    if (model.contextWindow === undefined || conversation.foldable === 0) return;
    const tokensBefore = caller.tokensIn(conversation.messages);
    if (tokensBefore <= model.contextWindow * compactAt) return;
    const messages = [...conversation.messages];
    const last = messages.pop();
    messages.push({ role: "user", content: `${last?.content ?? ""}\n\n${WRITE_SUMMARY}` });
    const place = { kind: "root", depth: this.#depth, span, signal } as const;
    const { text } = await caller.ask({ model, messages, ...place });
    const folded = conversation.foldable;
    const summary = withoutThoughts(text).trim() || NO_SUMMARY;
    conversation.fold(`${summary}\n\n${await this.#repl.state()}`);
    const tokensAfter = caller.tokensIn(conversation.messages);
    span.emit({ type: "compaction", messages: folded, tokensBefore, tokensAfter });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#repl.close();
  }
}

function finalVar(name: string): string {
  return `FINAL_VAR(${JSON.stringify(name)})`;
}

function proseAnswer(reply: string): Answer | undefined {
  const response = readResponse(reply);
  const isFinal = response.kind === "finish" && response.finish.via === "FINAL";
  const text = isFinal ? response.finish.text : withoutThoughts(reply).trim();
  return text === "" ? undefined : { text, value: text };
}

function judged(answer: Answer, { judge }: Task): Said {
  const objection = judge?.(answer);
  if (objection === undefined) return { kind: "answer", answer };
  return { kind: "go-on", observations: [], notes: [objection] };
}

/** The answer of a cell, or a note that says why it does not count. */
async function answerIn(repl: AgentRepl, ran: AgentTurn): Promise<Answer | string | undefined> {
  if (ran.final !== undefined) {
    const { text, value } = ran.final;
    return isCutText(value) ? LONG_ANSWER : { text, value };
  }
  if (ran.execution.status !== "ok" || !/\banswer\b/.test(ran.execution.code)) return undefined;
  const answer = await repl.variable("answer");
  if (!isAnswerDict(answer) || answer.ready !== true) return undefined;
  const { content } = answer;
  if (content === "" || content === null || content === undefined) return EMPTY_ANSWER;
  if (isCutText(content)) return LONG_ANSWER;
  const text = typeof content === "string" ? content : JSON.stringify(plainOf(content).value);
  return { text, value: content };
}

/** A text that was too long to be sent. */
function isCutText(value: unknown): boolean {
  return value instanceof UnconvertedValue && value.type === "str";
}

function isAnswerDict(value: unknown): value is { content: unknown; ready: unknown } {
  return typeof value === "object" && value !== null && "content" in value && "ready" in value;
}
