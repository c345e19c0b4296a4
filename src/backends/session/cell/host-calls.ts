import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { onAbort, unlessAborted } from "../../../concurrency/abort.js";
import { Semaphore } from "../../../concurrency/semaphore.js";
import type { Settings } from "../../../config.js";
import { CellarError } from "../../../errors.js";
import { excessOf, MAX_JSON_VALUES } from "../../../protocol/bounds.js";
import type { Params, Result } from "../../../protocol/messages.js";
import { decodeValue, type Json } from "../../../protocol/values.js";
import { answerText, type Callbacks } from "./callbacks.js";
import { RateLimit } from "./rate-limit.js";

type Answering = Pick<Callbacks, "onLLMQuery" | "onRLMQuery" | "tools">;

type HostFunction = (input: unknown, signal: AbortSignal) => Promise<Json>;

export type CallLimits = Pick<Settings, "queryConcurrency" | "queryTimeout">;

/** Calls of one sandbox in a second, after as many at once. */
const CALLS_PER_SECOND = 5_000;
/** What comes faster waits this long, in the cell's own time; what would wait longer is refused. */
const LONGEST_WAIT_MS = 200;

const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["llm_query", "onLLMQuery"],
  ["rlm_query", "onRLMQuery"],
]);

const llmInput = z.strictObject({ prompt: z.string(), model: z.string().nullable() });
const rlmInput = z.strictObject({
  task: z.string(),
  /** The step at which the host gave the context that is meant. */
  given: z.int().nonnegative().optional(),
  context: z.unknown().optional(),
  model: z.string().nullable(),
});

/** The caller's functions behind `llm_query`, `rlm_query` and its tools, called by hostile code. */
export class HostCalls {
  readonly #functions = new Map<string, HostFunction>();
  readonly #limits: CallLimits;
  readonly #turns: Semaphore;
  /** Marks what runs inside a function of the caller. */
  readonly #callees = new AsyncLocalStorage<true>();
  readonly #rate = new RateLimit(CALLS_PER_SECOND);

  /** `givenAt` returns what the host gave as context at a step. */
  constructor(
    { onLLMQuery, onRLMQuery, tools }: Answering,
    givenAt: (step: number) => unknown,
    limits: CallLimits,
  ) {
    this.#limits = limits;
    this.#turns = new Semaphore(limits.queryConcurrency);
    if (onLLMQuery !== undefined) {
      this.#functions.set("llm_query", async (input, signal) => {
        const { prompt, model } = read("llm_query", llmInput, input);
        const options = { signal, ...(model !== null && { model }) };
        return answerText("onLLMQuery", await onLLMQuery(prompt, options));
      });
    }
    if (onRLMQuery !== undefined) {
      this.#functions.set("rlm_query", async (input, signal) => {
        const { task, given, context, model } = read("rlm_query", rlmInput, input);
        const about = given === undefined ? context : givenAt(given);
        const options = { signal, ...(model !== null && { model }) };
        return answerText("onRLMQuery", await onRLMQuery(task, about, options));
      });
    }
    for (const [name, tool] of tools ?? []) {
      this.#functions.set(name, (input, signal) => tool.run(input, signal));
    }
  }

  /** Whether this is run by one of the functions, for which the cell waits. */
  get isCalling(): boolean {
    return this.#turns.held > 0 && this.#callees.getStore() === true;
  }

  /** Refuses an unknown name, and slows down a cell that asks without a pause. */
  async admit({ name }: Params<"host_call">, signal: AbortSignal): Promise<void> {
    if (!this.#functions.has(name)) throw notGiven(name);
    const wait = this.#rate.take(LONGEST_WAIT_MS);
    if (wait === undefined) throw tooFast(name);
    if (wait > 0) await sleep(wait, undefined, { signal }).catch(() => {});
  }

  async answer(call: Params<"host_call">, signal: AbortSignal): Promise<Result<"host_call">> {
    const work = this.#functions.get(call.name);
    if (work === undefined) throw notGiven(call.name);
    const input = readInput(call);
    const turn = await this.#turns.acquire(signal).catch(() => {
      throw givenUp(call.name);
    });
    try {
      return { output: await this.#inTime(call.name, work, input, signal) };
    } finally {
      turn[Symbol.dispose]();
      // It slows down every promise of the process.
      if (this.#turns.held === 0) this.#callees.disable();
    }
  }

  /** A function that does not heed its signal is waited for no longer than one that does. */
  async #inTime(
    name: string,
    work: HostFunction,
    input: unknown,
    signal: AbortSignal,
  ): Promise<Json> {
    const own = new AbortController();
    const { queryTimeout: timeout } = this.#limits;
    const late = new CellarError("ABORTED", `${name} took longer than ${timeout / 1000} s`);
    const timer = setTimeout(() => own.abort(late), timeout);
    using _ = onAbort(signal, () => own.abort(givenUp(name)));
    try {
      const working = this.#callees.run(true, () => work(input, own.signal));
      return await unlessAborted(working, own.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}

function givenUp(name: string): CellarError {
  return new CellarError("ABORTED", `${name} was cancelled: the cell has ended`);
}

function readInput({ name, input }: Params<"host_call">): unknown {
  const excess = excessOf(Buffer.from(input), MAX_JSON_VALUES);
  if (excess !== undefined) throw new CellarError("TOO_LARGE", `the input of ${name} ${excess}`);
  try {
    return decodeValue(JSON.parse(input));
  } catch (error) {
    throw new CellarError("INVALID_INPUT", `the input of ${name} is not valid JSON`, {
      cause: error,
    });
  }
}

function read<T>(name: string, schema: z.ZodType<T>, input: unknown): T {
  const { data, error } = schema.safeParse(input);
  if (data !== undefined) return data;
  throw new CellarError("INVALID_INPUT", `invalid arguments for ${name}`, { cause: error });
}

function tooFast(name: string): CellarError {
  const message = `${name} was refused: more than ${CALLS_PER_SECOND} calls to the host in a second`;
  return new CellarError("LIMIT_REACHED", message, {
    remedy: "wait for answers before asking more, or ask about many things in one call",
  });
}

function notGiven(name: string): CellarError {
  const option = OPTIONS.get(name);
  return option === undefined
    ? new CellarError("UNSUPPORTED", `unknown host function ${JSON.stringify(name)}`)
    : new CellarError(
        "UNSUPPORTED",
        `${name} is not available: this sandbox was created without ${option}`,
        { remedy: `continue without it, or pass ${option} when creating the sandbox` },
      );
}
