import type { LLMQuery, RLMQuery } from "../backends/backend.js";
import { CellarError } from "../errors.js";
import { failureOf } from "./budget/model-caller.js";
import type { Loop, Task, Tree } from "./loop.js";
import type { Model } from "./model.js";
import type { Span } from "./trace/trace.js";

/** The default of `queryConcurrency`. */
const USUAL_WIDTH = 16;

export type OpenLoop = (tree: Tree, depth: number, context: unknown) => Promise<Loop>;

/** Answers `llm_query` and `rlm_query` of a loop's code. */
export class SubCalls {
  readonly #tree: Tree;
  readonly #depth: number;
  readonly #openLoop: OpenLoop;
  #span: Span | undefined;

  constructor(tree: Tree, depth: number, openLoop: OpenLoop) {
    this.#tree = tree;
    this.#depth = depth;
    this.#openLoop = openLoop;
  }

  /** Calls from now on belong to this task. */
  serve({ span }: Task): void {
    this.#span = span;
  }

  readonly onLLMQuery: LLMQuery = (prompt, { signal, model }) =>
    this.#askModel(prompt, signal, model);

  /** Starts a loop; at the depth limit, asks the model once instead. */
  readonly onRLMQuery: RLMQuery = (task, context, { signal, model }) => {
    if (this.#tree.caller.ledger.allowsDepth(this.#depth + 1)) {
      return this.#askLoop(task, context, signal, model);
    }
    const prompt = typeof context === "string" ? `${task}\n\n${context}` : task;
    return this.#askModel(prompt, signal, model);
  };

  #askModel(prompt: string, signal: AbortSignal, name?: string): Promise<string> {
    const { caller, config } = this.#tree;
    const model = this.#modelNamed(name);
    const among = config.queryConcurrency ?? USUAL_WIDTH;
    return this.#traced("llm", prompt, this.#parent.child(), async (span) => {
      const messages = [{ role: "user", content: prompt }] as const;
      const place = { kind: "sub", depth: this.#depth, span, among, signal } as const;
      return (await caller.ask({ model, messages, ...place })).text;
    });
  }

  /** A named model runs the loop; its sub-calls use the usual models. */
  #askLoop(query: string, context: unknown, signal: AbortSignal, name?: string): Promise<string> {
    const model = this.#modelNamed(name);
    const deeper = this.#parent.child({ deeper: true });
    return this.#traced("rlm", query, deeper, async (span) => {
      const tree = { ...this.#tree, model };
      await using loop = await this.#openLoop(tree, this.#depth + 1, context);
      const { answer, error } = await loop.ask({ query, span, signal });
      if (answer !== undefined) return answer.text;
      throw (
        error ?? new CellarError("LIMIT_REACHED", "the budget ended before there was an answer")
      );
    });
  }

  #modelNamed(name: string | undefined): Model {
    const { subModel, models } = this.#tree;
    if (name === undefined || name === subModel.name) return subModel;
    const named = Object.hasOwn(models, name) ? models[name] : undefined;
    if (named !== undefined) return named;
    const known = [subModel.name, ...Object.keys(models)].join(", ");
    const message = `there is no model ${JSON.stringify(name)}; there are: ${known}`;
    throw new CellarError("NOT_FOUND", message);
  }

  get #parent(): Span {
    if (this.#span !== undefined) return this.#span;
    throw new CellarError("SESSION_CLOSED", "no question is being answered");
  }

  async #traced(
    kind: "llm" | "rlm",
    prompt: string,
    span: Span,
    work: (span: Span) => Promise<string>,
  ): Promise<string> {
    span.emit({ type: "sub.started", kind, prompt });
    const began = performance.now();
    try {
      const text = await work(span);
      span.emit({ type: "sub.ended", kind, text, ms: performance.now() - began });
      return text;
    } catch (error) {
      const ms = performance.now() - began;
      span.emit({ type: "sub.ended", kind, error: failureOf(error), ms });
      throw error;
    }
  }
}
