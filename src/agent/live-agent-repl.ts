import { randomBytes } from "node:crypto";
import { basename, join } from "node:path";
import type { CodeExecution, REPLConfig, SandboxInfo } from "../backends/backend.js";
import type { FileContent } from "../backends/files/file-content.js";
import type { FileOptions } from "../backends/files/sandbox-files.js";
import type { FileListing, ReadOptions } from "../backends/files/workspace-file.js";
import { calledFromWithin, checkSource } from "../backends/session/checks.js";
import { TaskQueue } from "../concurrency/task-queue.js";
import { checkNames, requireOptions, requireText } from "../config/kinds.js";
import { CellarError } from "../errors.js";
import {
  type ChainDivergence,
  type ChainLog,
  chainLogSchema,
} from "../protocol/agent/chain-report.js";
import type { Finding } from "../protocol/messages.js";
import {
  AgentRepl,
  type AgentReplOptions,
  type AgentTurn,
  type TurnOptions,
} from "./agent-repl.js";
import { answerOf } from "./observation/answer.js";
import { outputText, remarks } from "./observation/observation.js";
import { Spill, type Spilled } from "./observation/spill.js";
import { defaultSpillDir } from "./observation/spill-folder.js";
import { Renderer } from "./observation/toon.js";
import { type AgentPlan, planAgent } from "./options.js";
import {
  type AgentRecord,
  findingsIn,
  MOST_FINDINGS,
  packVariables,
  readRecord,
  restoreCounters,
  unpackVariables,
} from "./record.js";
import { redactCalls, redactFindings, redactVariables } from "./redaction/redact-report.js";
import { ResearchContext, type ResearchOptions } from "./research/context.js";
import { ExplorationLog } from "./research/exploration.js";
import { AgentSession } from "./session.js";
import { describeState } from "./state.js";

/** An agent's REPL with its session, and with what the agent has seen so far. */
export class LiveAgentRepl extends AgentRepl {
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
  /** Variables of `prepare()`, which `state()` does not list. */
  #prepared: Set<string> = new Set();
  /** What the next state reports once. */
  #notice: string | undefined;
  #ending: Promise<void> | undefined;

  private constructor(
    plan: AgentPlan,
    context: unknown,
    parts: { session: AgentSession; spill: Spill; renderer: Renderer },
  ) {
    super();
    this.#plan = plan;
    this.#context = context;
    this.#session = parts.session;
    this.#spill = parts.spill;
    this.#renderer = parts.renderer;
    this.#research = new ResearchContext(researchOf(plan));
  }

  static override async open(given: AgentReplOptions = {}): Promise<LiveAgentRepl> {
    const example = '{ context: "text", config: { timeout: 60_000 } }';
    requireOptions("the options of AgentRepl.open", given, example);
    const { context, config = {}, ...options } = given;
    const plan = planAgent(options, config, context !== undefined);
    const session = await AgentSession.open(plan.config, context);
    try {
      const spill = await Spill.open({
        dir: plan.spillDir ?? defaultSpillDir(),
        session: plan.session ?? `s-${randomBytes(8).toString("hex")}`,
        mount: session.spillPath,
        cap: plan.outputCap,
        preview: plan.maxOutputPreview,
        redact: plan.redact,
        worker: plan.summarise,
      });
      const renderer = await Renderer.load({ toon: plan.useToonEncoding });
      return new LiveAgentRepl(plan, context, { session, spill, renderer });
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  override get info(): SandboxInfo {
    return this.#session.sandbox.info;
  }

  override get spillFolder(): string {
    return this.#spill.files.path;
  }

  override get research(): ResearchContext {
    return this.#research;
  }

  override get exploration(): ExplorationLog {
    return this.#exploration;
  }

  override prepare(code: string): Promise<void> {
    return this.#task(async () => {
      const { sandbox } = this.#session;
      const own = this.#turn === 0 ? [] : await this.#ownVariables();
      const { error } = await sandbox.execute(code);
      if (error !== null) {
        throw new CellarError("INVALID_INPUT", `prepare() failed: ${error.message}`);
      }
      this.#prepared = new Set((await sandbox.variables()).map(({ name }) => name));
      for (const name of ["context", ...own.map((one) => one.name)]) this.#prepared.delete(name);
    });
  }

  override variable(name: string): Promise<unknown> {
    return this.#task(() => this.#session.sandbox.getVariable(name));
  }

  override putFile(path: string, content: FileContent, options?: FileOptions): Promise<void> {
    return this.#session.sandbox.putFile(path, content, options);
  }

  override getFile(path: string, options?: ReadOptions & FileOptions): Promise<Buffer> {
    return this.#session.sandbox.getFile(path, options);
  }

  override listFiles(options?: FileOptions): Promise<FileListing> {
    return this.#session.sandbox.listFiles(options);
  }

  override turn(code: string, options: TurnOptions = {}): Promise<AgentTurn> {
    const { text = "", ...limits } = options ?? {};
    return this.#task(async () => {
      const wishes = requireOptions("the options of a turn", options);
      checkNames("turn", wishes, { timeout: true, signal: true, text: true, continues: true });
      requireText("text", text);
      checkSource(code, limits);
      const execution = await this.#session.sandbox.execute(code, limits);
      this.#turn += 1;
      this.#research.beginTurn(text);
      return await this.#observe(execution, options.signal);
    });
  }

  override replayChain(code: string, log: ChainLog): Promise<ChainDivergence | undefined> {
    return this.#task(async () => {
      checkSource(code, {});
      const parsed = chainLogSchema.safeParse(log);
      if (parsed.success) return await this.#session.sandbox.replayChain(code, parsed.data);
      throw new CellarError("INVALID_INPUT", `not the log of a chain: ${parsed.error.message}`, {
        remedy: "Pass chainLog of a turn.",
      });
    });
  }

  async #observe(execution: CodeExecution, signal?: AbortSignal): Promise<AgentTurn> {
    const number = this.#turn;
    const output = outputText(execution, this.#renderer);
    const { stdout, stderr } = execution.omitted;
    const observed = await this.#spill.observe(number, output, signal, stdout + stderr);
    const { text, spilled, redacted } = observed;
    const missing = spilled === undefined ? undefined : await this.#share(spilled);
    const { calls = [], omitted = 0, findings = [] } = execution.agent ?? {};
    const shown = await redactCalls(calls, (one) => this.#spill.redact(one));
    this.#exploration.add(number, shown, omitted);
    this.#research.record(shown);
    this.#research.found(findings);
    this.#relate();
    this.#findings = [...this.#findings, ...findings].slice(0, MOST_FINDINGS);
    if (!execution.state.survived) {
      const { numbers } = this.#research;
      // If the session is lost again, its next turn says so.
      await restoreCounters(this.#session.sandbox, numbers, this.#findings).catch(() => {});
    }
    const notes = [...(missing === undefined ? [] : [`[${missing}]`]), ...remarks(execution)];
    const answer = answerOf(execution.agent);
    if (answer !== undefined) this.#exploration.answer ??= answer.text;
    return {
      number,
      observation: [text, await this.#spill.redact(notes.join("\n"))]
        .filter((part) => part !== "")
        .join("\n"),
      execution,
      final: answer,
      spilled,
      redacted,
      calls,
      findings,
      chain: execution.agent?.chain ?? undefined,
      chainLog: execution.agent?.chain_log ?? [],
      isLiteralAnswer: execution.agent?.literal_answer ?? false,
    };
  }

  /** Runs while the model thinks; the next state waits for it. */
  #relate(): void {
    const research = this.#research;
    research.relate().then(
      ({ notice }) => {
        if (research === this.#research) this.#notice ??= notice;
      },
      () => {},
    );
  }

  /** Makes a spilled output readable in the session; returns what is missing. */
  async #share({ path, removed }: Spilled): Promise<string | undefined> {
    for (const name of removed) await this.#session.withdraw(name);
    return path === undefined ? undefined : await this.#deliver(basename(path));
  }

  #deliver(name: string): Promise<string | undefined> {
    return this.#session.deliver(name, join(this.#spill.files.path, name));
  }

  override state(): Promise<string> {
    return this.#task(async () => {
      const related = await this.#research.relate();
      const notice = this.#notice ?? related.notice;
      this.#notice = undefined;
      const redact = (text: string) => this.#spill.redact(text);
      return describeState({
        turn: this.#turn,
        variables: await redactVariables(await this.#ownVariables(), redact),
        findings: await redactFindings(this.#findings, redact),
        tree: this.#research.render(),
        notice,
      });
    });
  }

  async #ownVariables() {
    const all = await this.#session.sandbox.variables();
    return all.filter(({ name }) => !this.#prepared.has(name));
  }

  override checkpoint(): Promise<AgentRecord> {
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

  override async restore(value: unknown): Promise<readonly string[]> {
    const record = readRecord(value);
    return await this.#task(async () => {
      const research = ResearchContext.fromJSON(record.research, researchOf(this.#plan));
      const exploration = ExplorationLog.fromJSON(record.exploration);
      const refused = await this.#replaceSession(async ({ sandbox }) => {
        const names = await unpackVariables(sandbox, record);
        this.#spill.restore(record.spill);
        return names;
      });
      for (const name of await this.#spill.files.names()) await this.#deliver(name);
      this.#research = research;
      this.#exploration = exploration;
      this.#findings = findingsIn(record);
      this.#turn = Math.max(this.#turn, record.turn);
      return refused;
    });
  }

  override reset(): Promise<void> {
    return this.#task(() =>
      this.#replaceSession(async () => this.#spill.restore({ summary: null })),
    );
  }

  /** The old session stays until the new one is ready. */
  async #replaceSession<T>(prepare: (session: AgentSession) => Promise<T>): Promise<T> {
    const { config, privacy } = this.#plan;
    // What was marked private stays so.
    const kept: REPLConfig = privacy.isPrivate
      ? { ...config, private: true, network: "none" }
      : config;
    const session = await AgentSession.open(kept, this.#context);
    let prepared: T;
    try {
      prepared = await prepare(session);
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
    const previous = this.#session;
    this.#session = session;
    this.#research = new ResearchContext(researchOf(this.#plan));
    this.#exploration = new ExplorationLog();
    this.#findings = [];
    this.#notice = undefined;
    await previous[Symbol.asyncDispose]();
    return prepared;
  }

  override async markPrivate(reason = "no reason given"): Promise<void> {
    requireText("reason", reason);
    this.#plan.privacy.isPrivate = true;
    await this.#session.cutNetwork(reason);
  }

  override cancel(): Promise<void> {
    return this.#session.sandbox.cancel();
  }

  override close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    await this.cancel();
    await this.#queue.run(() => this.#session[Symbol.asyncDispose]());
    if (this.#plan.session === undefined) await this.#spill.files.removeIfEmpty();
  }

  #task<T>(work: () => Promise<T>): Promise<T> {
    // It would wait for the turn that waits for it.
    if (this.#session.sandbox.isCalledFromWithin) return Promise.reject(calledFromWithin());
    // Tasks that are still waiting when the REPL is closed do not start.
    const attempt = async () => {
      if (this.#ending === undefined) return await work();
      throw new CellarError("SESSION_CLOSED", "the agent's REPL was closed");
    };
    return this.#ending === undefined ? this.#queue.run(attempt) : attempt();
  }
}

function plain(value: { toJSON(): unknown }): AgentRecord["agent"] {
  return JSON.parse(JSON.stringify(value));
}

function researchOf({ useSemantic, embedder, parents }: AgentPlan): ResearchOptions {
  return { useSemantic, embedder, parents };
}
