import type { Settings } from "../../config.js";
import { CellarError, describeError, isCellarError } from "../../errors.js";
import type { Params, RestoreReport, Result } from "../../protocol/messages.js";
import type { Json } from "../../protocol/values.js";
import type { Branch } from "./branch.js";
import type { Callbacks } from "./cell/callbacks.js";
import { type CheckpointPolicy, checkpointPolicy, hostChangePolicy } from "./checkpoint-policy.js";
import { type Context, isLongText, type LargeContext, largeValue } from "./context/context.js";
import type { SessionLease } from "./lease.js";
import { fillExchange } from "./state/exchange-file.js";

/** Values of many parts take Python longer to build than a question usually may. */
const LOADING_MS = 120_000;
/** A head that has just been made does so at once; a loaded machine may take longer. */
const SETUP_MS = 20_000;

type Plan = Result<"initialize">["checkpoint"];

/** What the host puts into a head: the environment, its tools, variables and the context. */
export class SessionSetup {
  readonly #configuration: Params<"configure"> | undefined;
  readonly #settings: Settings;
  readonly #nextStep: () => number;
  context: Context | undefined;
  /** What was given as context at which step, so far back as a head may be. */
  readonly #given = new Map<number, unknown>();

  constructor(
    { env, tools }: Pick<Callbacks, "env" | "tools">,
    settings: Settings,
    nextStep: () => number,
  ) {
    const order = { ...codeRulesOf(settings), ...agentOf(settings), ...toolsOf(tools) };
    const isEmpty = env === undefined && Object.keys(order).length === 0;
    this.#configuration = isEmpty ? undefined : { environment: { ...env }, ...order };
    this.#settings = settings;
    this.#nextStep = nextStep;
  }

  get isEmpty(): boolean {
    return this.#configuration === undefined && this.context === undefined;
  }

  /** What a head has as context that was put there at a step; a session may start with one. */
  givenAt(step: number, lease: SessionLease): unknown {
    return step === 0 ? lease.facts.context?.given : this.#given.get(step);
  }

  /** For a fork, which starts from the same state. */
  copyFrom(other: SessionSetup): void {
    this.context = other.context;
    for (const [step, given] of other.#given) this.#given.set(step, given);
  }

  async install(branch: Branch, lease: SessionLease): Promise<void> {
    const configuration = this.#configuration;
    if (configuration !== undefined) await branch.question("configure", configuration, SETUP_MS);
    const context = this.context;
    if (context !== undefined && context !== lease.facts.context) await this.place(branch, context);
  }

  async place(branch: Branch, context: Context): Promise<void> {
    const { given } = context;
    if (context.kind === "small") await this.#assign(branch, "context", context.value, given);
    else await this.#stream(branch, context, "context");
  }

  /** In one message, or in pieces where it is too large for that. */
  async set(branch: Branch, name: string, value: Json, given: unknown): Promise<void> {
    try {
      if (!isLongText(value)) return await this.#assign(branch, name, value, given);
    } catch (error) {
      if (!isCellarError(error, "TOO_LARGE")) throw error;
    }
    await this.#stream(branch, await largeValue(given, value), name);
  }

  /** Puts the variables of a snapshot into a new head: of this file, or of the one in its folder. */
  async restore(branch: Branch, file?: string): Promise<RestoreReport> {
    if (file === undefined) await lendState(branch);
    const { timeout } = this.#settings;
    const step = this.#nextStep();
    const { exchange } = branch.session;
    if (exchange !== undefined && file !== undefined) await fillExchange(exchange, file);
    const order = {
      step,
      ...hostChangePolicy(this.#settings),
      ...(exchange === undefined && file !== undefined && { file }),
    };
    const patience = Math.max(timeout, LOADING_MS);
    const answer = await branch.question("restore", order, patience).catch((error: unknown) => {
      throw isCellarError(error, "REMOTE_ERROR") ? unrestorable(error) : error;
    });
    record(branch, step, answer.checkpoint);
    return answer.report;
  }

  async setAgentState(branch: Branch, state: Json): Promise<void> {
    const step = this.#nextStep();
    const order = { step, state, ...hostChangePolicy(this.#settings) };
    const answer = await branch.question("set_agent_state", order, this.#settings.timeout);
    record(branch, step, answer.checkpoint);
  }

  async #assign(branch: Branch, name: string, value: Json, given: unknown): Promise<void> {
    const step = this.#nextStep();
    const order = { step, variables: { [name]: value }, ...this.#policy(branch, name) };
    const answer = await branch.question("initialize", order, this.#settings.timeout);
    record(branch, step, answer.checkpoint, name === "context");
    if (name === "context") this.#remember(step, given);
  }

  /** A context that comes first needs none: it is installed again in an empty session. */
  #policy({ line }: Branch, name: string): CheckpointPolicy {
    const isFirst = name === "context" && line.present.id === 0;
    return isFirst ? checkpointPolicy(this.#settings) : hostChangePolicy(this.#settings);
  }

  #remember(step: number, given: unknown): void {
    this.#given.set(step, given);
    for (const old of this.#given.keys()) {
      if (this.#given.size <= this.#settings.keepCheckpoints + 1) return;
      this.#given.delete(old);
    }
  }

  /** Each part waits for the answer to the one before, so that nothing piles up. */
  async #stream(branch: Branch, context: LargeContext, name: string): Promise<void> {
    const { timeout } = this.#settings;
    const { format, bytes: total } = context;
    try {
      let offset = 0;
      for await (const piece of context.pieces()) {
        const part = { format, total, offset, attachments: [{ bytes: piece.length }] };
        await branch.question("context_part", part, timeout, [piece]);
        offset += piece.length;
      }
      const step = this.#nextStep();
      const patience = Math.max(timeout, LOADING_MS);
      const policy = this.#policy(branch, name);
      const order = { step, total, ...policy, ...(name !== "context" && { name }) };
      const answer = await branch.question("load_context", order, patience);
      record(branch, step, answer.checkpoint, name === "context");
      if (name === "context") this.#remember(step, context.given);
    } catch (error) {
      throw isCellarError(error, "REMOTE_ERROR") ? refused(error, name) : error;
    }
  }
}

function codeRulesOf({ policy, sanitise }: Settings): Pick<Params<"configure">, "code_rules"> {
  return policy === "off" && !sanitise ? {} : { code_rules: { policy, sanitise } };
}

function agentOf({ agent }: Settings): Pick<Params<"configure">, "agent"> {
  if (agent === undefined) return {};
  return {
    agent: {
      max_grep_results: agent.maxGrepResults,
      require_exploration_before_final: agent.requireExplorationBeforeFinal,
      min_exploration_calls: agent.minExplorationCalls,
      ...(agent.role !== undefined && { role: agent.role }),
      ...(agent.chain !== undefined && {
        chain: {
          mode: agent.chain.mode,
          parallel_tools: agent.chain.parallelTools,
          parallel_mutations: agent.chain.parallelMutations,
        },
      }),
    },
  };
}

function toolsOf(tools: Callbacks["tools"]): Pick<Params<"configure">, "tools"> {
  return tools === undefined ? {} : { tools: [...tools.values()].map(({ spec }) => spec) };
}

/** A context `isRepeated` in every session that begins anew. */
function record({ line }: Branch, step: number, plan: Plan, isRepeated = false): void {
  line.add({ id: step, cell: line.present.cell }, isRepeated);
  if (!plan.planned) line.unparkable(step);
}

async function lendState({ session, number }: Branch): Promise<void> {
  const answer = await session.askInit("lend_state", { branch: number });
  if (!answer.done) {
    throw new CellarError(
      "STATE_REFUSED",
      `could not pass the saved state to the session: ${answer.reason}`,
    );
  }
}

function unrestorable(error: CellarError): CellarError {
  return new CellarError("STATE_REFUSED", describeError(error).replace(/^Refused: /, ""), {
    cause: error,
  });
}

function refused(error: CellarError, name: string): CellarError {
  const reason = describeError(error);
  if (!reason.startsWith("MemoryError")) return error;
  const what = name === "context" ? "the context" : `the value of ${name}`;
  return new CellarError("TOO_LARGE", `${what} does not fit into the session's memory`, {
    remedy:
      name === "context"
        ? "Call initialize() before the first cell, which counts its memory separately, or raise limits.memoryMb."
        : "Raise limits.memoryMb, or give it as a file: putFile(), mounts or initialize({ file }).",
    details: { reason },
    cause: error,
  });
}
