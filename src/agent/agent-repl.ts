import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CodeExecution, REPLConfig, SandboxInfo } from "../backends/backend.js";
import { TaskQueue } from "../backends/family/queue.js";
import { CellarError } from "../errors.js";
import type { AgentCall, Finding } from "../protocol/messages.js";
import { decodeValue } from "../protocol/values.js";
import { type AgentOptions, type AgentPlan, planAgent } from "./agent-options.js";
import { type AgentRecord, packVariables, readRecord, unpackVariables } from "./agent-record.js";
import { AgentSession } from "./agent-session.js";
import { describeState } from "./agent-state.js";
import { answerOf, type FinalAnswer } from "./answer.js";
import { ExplorationLog } from "./exploration.js";
import { outputText, remarks } from "./observation.js";
import type { Found } from "./redaction.js";
import { ResearchContext } from "./research.js";
import { Spill, type Spilled } from "./spill.js";
import { Renderer } from "./toon.js";

export interface AgentReplOptions extends AgentOptions {
  /** A text, a value, or `{ file }`: what the agent is to look through. */
  readonly context?: unknown;
  /** Settings of the sandbox. */
  readonly config?: REPLConfig | undefined;
}

export interface TurnOptions {
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What the model wrote around its code: results that it names count as looked into. */
  readonly text?: string | undefined;
}

export interface Turn {
  readonly number: number;
  /** For the model. */
  readonly observation: string;
  readonly execution: CodeExecution;
  /** The answer with which the task ends. */
  readonly final: FinalAnswer | undefined;
  readonly spilled: Spilled | undefined;
  /** Secrets that were taken out, by category. */
  readonly redacted: Found;
  readonly calls: readonly AgentCall[];
  readonly findings: readonly Finding[];
}

/** A Python in which an agent explores a context that the model never sees as a whole. */
export class AgentRepl implements AsyncDisposable {
  readonly #plan: AgentPlan;
  readonly #context: unknown;
  readonly #renderer: Renderer;
  readonly #spill: Spill;
  readonly #queue = new TaskQueue();
  #session: AgentSession;
  #research: ResearchContext;
  #exploration = new ExplorationLog();
  #findings: Finding[] = [];
  #turn = 0;
  #ending: Promise<void> | undefined;

  private constructor(
    plan: AgentPlan,
    context: unknown,
    parts: { session: AgentSession; spill: Spill; renderer: Renderer },
  ) {
    this.#plan = plan;
    this.#context = context;
    this.#session = parts.session;
    this.#spill = parts.spill;
    this.#renderer = parts.renderer;
    this.#research = new ResearchContext(plan);
  }

  static async open({ context, config = {}, ...options }: AgentReplOptions): Promise<AgentRepl> {
    const plan = planAgent(options, config, context !== undefined);
    const session = await AgentSession.open(plan.config, context);
    try {
      const spill = await Spill.open({
        dir: plan.spillDir,
        session: plan.session ?? `s-${randomBytes(8).toString("hex")}`,
        mount: session.spillPath,
        cap: plan.outputCap,
        preview: plan.maxOutputPreview,
        redact: plan.redact,
        worker: plan.summarise,
      });
      const renderer = await Renderer.load({ toon: plan.useToonEncoding });
      return new AgentRepl(plan, context, { session, spill, renderer });
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  get info(): SandboxInfo {
    return this.#session.sandbox.info;
  }

  /** Where outputs lie that were too long to be shown. */
  get spillFolder(): string {
    return this.#spill.folder;
  }

  get research(): ResearchContext {
    return this.#research;
  }

  get exploration(): ExplorationLog {
    return this.#exploration;
  }

  /** Runs a cell that is no turn, such as one that defines what all turns find. */
  prepare(code: string): Promise<void> {
    return this.#task(async () => {
      const { error } = await this.#session.sandbox.execute(code);
      if (error === null) return;
      throw new CellarError("INVALID_INPUT", `the session cannot be prepared: ${error.message}`);
    });
  }

  /** The value of a variable; undefined where there is none. */
  variable(name: string): Promise<unknown> {
    return this.#task(() => this.#session.sandbox.getVariable(name));
  }

  /** Runs a cell; what came of it as the model is to see it. */
  turn(code: string, options: TurnOptions = {}): Promise<Turn> {
    const { text = "", ...limits } = options;
    return this.#task(async () => {
      const execution = await this.#session.sandbox.execute(code, limits);
      this.#turn += 1;
      this.#research.beginTurn(text);
      return await this.#observe(execution, options.signal);
    });
  }

  async #observe(execution: CodeExecution, signal?: AbortSignal): Promise<Turn> {
    const number = this.#turn;
    const output = outputText(execution, this.#renderer);
    const { text, spilled, redacted } = await this.#spill.observe(number, output, signal);
    if (spilled?.path !== undefined) await this.#deliver(basename(spilled.path));
    const { calls = [], omitted = 0, findings = [] } = execution.agent ?? {};
    const shown = await this.#redacted(calls);
    this.#exploration.add(number, shown as Parameters<ExplorationLog["add"]>[1], omitted);
    this.#research.record(shown);
    // Likeness is looked for while the model thinks; the next state waits for it.
    this.#research.relate().catch(() => {});
    this.#findings.push(...findings);
    const answer = answerOf(execution.agent);
    if (answer !== undefined) this.#exploration.answer ??= answer.text;
    return {
      number,
      observation: [text, ...remarks(execution)].filter((part) => part !== "").join("\n"),
      execution,
      final: answer,
      spilled,
      redacted,
      calls,
      findings,
    };
  }

  /** Previews and arguments are shown again, in the tree of what was looked at. */
  #redacted(calls: readonly AgentCall[]): Promise<readonly AgentCall[]> {
    return Promise.all(
      calls.map(async (call) => ({ ...call, preview: await this.#spill.redact(call.preview) })),
    );
  }

  async #deliver(name: string): Promise<void> {
    const file = join(this.#spill.folder, name);
    await this.#session.deliver(name, file, () => readFile(file, "utf8"));
  }

  /** The block for the prompt: what there is, what was found, and what was looked at. */
  state(): Promise<string> {
    return this.#task(async () => {
      await this.#research.relate();
      return describeState({
        turn: this.#turn,
        variables: await this.#session.sandbox.variables(),
        findings: this.#findings,
        tree: this.#research.render(),
      });
    });
  }

  /** All of it that JSON can say; the context is not in it. */
  checkpoint(): Promise<AgentRecord> {
    return this.#task(async () => ({
      version: 1 as const,
      turn: this.#turn,
      createdAt: new Date().toISOString(),
      ...(await packVariables(this.#session.sandbox)),
      research: plain(this.#research),
      exploration: plain(this.#exploration),
      spill: plain(this.#spill),
    }));
  }

  /** Goes on from a checkpoint in a new session; gives the names that were not taken. */
  restore(value: unknown): Promise<readonly string[]> {
    const record = readRecord(value);
    return this.#task(async () => {
      const research = ResearchContext.fromJSON(record.research, this.#plan);
      const exploration = ExplorationLog.fromJSON(record.exploration);
      await this.#renew();
      const refused = await unpackVariables(this.#session.sandbox, record);
      this.#spill.restore(record.spill);
      for (const name of await this.#spill.names()) await this.#deliver(name);
      this.#research = research;
      this.#exploration = exploration;
      this.#findings = findingsIn(record);
      this.#turn = Math.max(this.#turn, record.turn);
      return refused;
    });
  }

  /** A new session with the same context; nothing of before is known. */
  reset(): Promise<void> {
    return this.#task(() => this.#renew());
  }

  async #renew(): Promise<void> {
    const session = await AgentSession.open(this.#plan.config, this.#context);
    const former = this.#session;
    this.#session = session;
    this.#research = new ResearchContext(this.#plan);
    this.#exploration = new ExplorationLog();
    this.#findings = [];
    await former[Symbol.asyncDispose]();
  }

  cancel(): Promise<void> {
    return this.#session.sandbox.cancel();
  }

  /** The files of long outputs stay; they are yours. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    await this.cancel();
    await this.#queue.run(() => this.#session[Symbol.asyncDispose]());
    this.#queue.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #task<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ending !== undefined) {
      return Promise.reject(new CellarError("SESSION_CLOSED", "the agent's REPL was closed"));
    }
    return this.#queue.run(work);
  }
}

function plain(value: { toJSON(): unknown }): AgentRecord["agent"] {
  return JSON.parse(JSON.stringify(value));
}

function findingsIn({ agent }: AgentRecord): Finding[] {
  const state = decodeValue(agent);
  const findings = state instanceof Object && "findings" in state ? state.findings : [];
  return Array.isArray(findings) ? (findings as Finding[]) : [];
}
