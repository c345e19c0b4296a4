import { keepingAlive } from "../../concurrency/keep-alive.js";
import type { Settings } from "../../config.js";
import type { CellarError } from "../../errors.js";
import type { ChainDivergence, ChainLog } from "../../protocol/agent/chain-report.js";
import type { Params, RestoreReport, Variable } from "../../protocol/messages.js";
import { decodeValue, encodeValue } from "../../protocol/values.js";
import type {
  AgentSandbox,
  Checkpoint,
  CodeExecution,
  Completeness,
  Completion,
  ExecuteOptions,
  SandboxInfo,
  SpilledFile,
} from "../backend.js";
import { type AskFiles, SandboxFiles } from "../files/sandbox-files.js";
import { workspaceLimit } from "../files/workspace-file.js";
import type { Captured, CaptureOptions, OpenSink, StatefulSandbox } from "../stateful-sandbox.js";
import type { CheckpointMethod, Question } from "./branch.js";
import type { Callbacks } from "./cell/callbacks.js";
import { PendingCells } from "./cell/pending-cells.js";
import * as checks from "./checks.js";
import { COMPLETION_MS, completeAt, completenessOf } from "./completion.js";
import { contextOf } from "./context/context.js";
import type { CurrentSession } from "./current-session.js";
import { askFiles } from "./file-requests.js";
import type { SessionFactory } from "./lease.js";
import { StateCapture } from "./state/state-capture.js";

const CLOSING_MS = 5_000;

/** A Python of one's own: cells run one at a time, and their state stays. */
export class PythonSandbox extends SandboxFiles implements StatefulSandbox, AgentSandbox {
  readonly #settings: Settings;
  readonly #session: CurrentSession;
  readonly #pending = new PendingCells();
  #ending: Promise<void> | undefined;

  constructor(settings: Settings, session: CurrentSession) {
    super(workspaceLimit(settings.limits));
    this.#settings = settings;
    this.#session = session;
  }

  static async open<T extends PythonSandbox>(
    Kind: new (...parts: ConstructorParameters<typeof PythonSandbox>) => T,
    sessions: SessionFactory,
    settings: Settings,
    callbacks: Callbacks,
  ): Promise<T> {
    // Only here: whoever merely asks for `instanceof` needs none of it.
    const [lease, { CurrentSession }] = await Promise.all([
      sessions.open(),
      import("./current-session.js"),
    ]);
    const session = new CurrentSession({ sessions, settings, callbacks }, lease);
    const sandbox = new Kind(settings, session);
    await session
      .start()
      .catch((error: unknown) => sandbox.destroy().then(() => Promise.reject(error)));
    return sandbox;
  }

  get info(): SandboxInfo {
    return this.#session.info;
  }

  async initialize(context?: unknown): Promise<void> {
    const settle = contextOf(context);
    await this.#task(async () => this.#session.initialize(await settle()));
  }

  async execute(code: string, options: ExecuteOptions = {}): Promise<CodeExecution> {
    checks.checkSource(code, options);
    using pending = this.#pending.enter(options.signal);
    return await this.#task(() => this.#session.run(code, options, pending));
  }

  async getVariable(name: string): Promise<unknown> {
    const answer = await this.#ask("get_variable", { name: String(name) });
    return answer.found ? decodeValue(answer.value) : undefined;
  }

  async setVariable(name: string, value: unknown): Promise<void> {
    checks.checkVariableName(name);
    const encoded = encodeValue(value);
    await this.#task(() => this.#session.setVariable(name, encoded, value));
  }

  async variables(): Promise<readonly Variable[]> {
    return (await this.#ask("variables", {})).variables;
  }

  async complete(code: string, cursor = code.length): Promise<Completion> {
    return await completeAt(code, cursor, (at) => this.#ask("complete", at, COMPLETION_MS));
  }

  async isComplete(code: string): Promise<Completeness> {
    return await completenessOf(code, () => this.#ask("is_complete", { code }, COMPLETION_MS));
  }

  async getAgentState(): Promise<unknown> {
    return decodeValue((await this.#ask("get_agent_state", {})).state);
  }

  async setAgentState(state: unknown): Promise<void> {
    const encoded = encodeValue(state);
    await this.#task(() => this.#session.setAgentState(encoded));
  }

  async replayChain(code: string, log: ChainLog): Promise<ChainDivergence | undefined> {
    return (await this.#ask("replay_chain", { code, log })).divergence ?? undefined;
  }

  async putSpilled(files: readonly SpilledFile[]): Promise<string> {
    return (await this.#ask("put_spilled", { files: [...files] })).folder;
  }

  async capture(open: OpenSink, options: CaptureOptions): Promise<Captured> {
    if (this.#ending !== undefined) throw destroyed();
    const enqueue = <T>(work: () => Promise<T>) => this.#task(work);
    const capture = new StateCapture(this.#session.branch, options, open, enqueue);
    return keepingAlive(capture.run(this.info));
  }

  numberNext(number: number): void {
    this.#session.numberNext(number);
  }

  restore(file?: string): Promise<RestoreReport> {
    const given = checks.hasCheckpoints(this.info) ? undefined : file;
    return this.#task(() => this.#session.restore(given));
  }

  async cancel(): Promise<void> {
    this.#pending.cancel();
  }

  checkpoints(): Promise<readonly Checkpoint[]> {
    return this.#task(async () => {
      checks.checkAbility(this.info, "checkpoints()");
      return this.#session.branch.line.kept(await this.#session.alive());
    });
  }

  /** How checkpoints are made here: by written pages, or by copies and why. */
  checkpointMethod(): Promise<CheckpointMethod> {
    return this.#task(async () => {
      checks.checkAbility(this.info, "checkpoints()");
      await this.#session.alive();
      return this.#session.branch.checkpointMethod();
    });
  }

  async undo(cells = 1): Promise<Checkpoint> {
    checks.checkLimit("cells", cells, 1);
    return await this.#task(async () => {
      checks.checkAbility(this.info, "undo()");
      const target = this.#session.branch.line.undoing(cells, await this.#session.alive());
      await this.#session.goTo(target.id);
      return target;
    });
  }

  fork(): Promise<this> {
    return this.#task(async () => {
      checks.checkAbility(this.info, "fork()");
      const Kind = this.constructor as typeof PythonSandbox;
      return new Kind(this.#settings, await this.#session.fork()) as this;
    });
  }

  destroy(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#pending.cancel();
    const impatience = setInterval(() => this.#session.branch.breakOff(), this.#settings.grace);
    await this.#session.leave(CLOSING_MS).finally(() => clearInterval(impatience));
  }

  cutNetwork(_reason: string): boolean {
    return false;
  }

  get isCalledFromWithin(): boolean {
    return this.#session.isCalling;
  }

  readonly askFiles: AskFiles = async (method, order, attachments) => {
    if (this.#ending !== undefined) throw destroyed();
    // What holds a file is not to be replaced by a new session.
    if (method === "open_file") this.#session.keep();
    const task = <T>(work: () => Promise<T>) => this.#task(work);
    const keeper = { limit: this.workspace, place: () => this.#session, task };
    return await askFiles(keeper, method, order, attachments);
  };

  #task<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ending !== undefined) return Promise.reject(destroyed());
    if (this.isCalledFromWithin) return Promise.reject(checks.calledFromWithin());
    return this.#session.task(work);
  }

  #ask<M extends Question>(method: M, params: Params<M>, limit = this.#settings.timeout) {
    return this.#task(() => this.#session.branch.question(method, params, limit));
  }
}

function destroyed(): CellarError {
  return checks.closedError("the sandbox was destroyed");
}
