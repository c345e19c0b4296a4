import type { ChainDivergence, ChainLog } from "../../protocol/agent/chain-report.js";
import type { Params, RequestMethod, Result, Variable } from "../../protocol/messages.js";
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
import {
  type AskFiles,
  type FileMethod,
  type FileOrder,
  SandboxFiles,
} from "../files/sandbox-files.js";
import type { WorkspaceLimit } from "../files/workspace-file.js";
import { LossNotices } from "../session/cell/loss-notices.js";
import { type PendingCell, PendingCells } from "../session/cell/pending-cells.js";
import { joinReports, withoutContext } from "../session/cell/state-report.js";
import {
  calledFromWithin,
  checkLimit,
  checkSource,
  checkVariableName,
  closedError,
} from "../session/checks.js";
import { completeAt, completenessOf } from "../session/completion.js";
import type { ClientCallbacks } from "./client-callbacks.js";
import type { DaemonConnection } from "./connection.js";
import { packContext } from "./context-codec.js";
import { OrderedSender, type Sent } from "./ordered-sender.js";
import { isConnectionLost } from "./refusals.js";
import { lostExecution, unpackExecution } from "./result-codec.js";

/** A session of the daemon, as its client holds it. */
export interface DaemonSession {
  readonly connection: DaemonConnection;
  readonly id: string;
  /** The session and its forks send notifications and queries under the id of the first of them. */
  readonly listenerId: string;
  readonly info: SandboxInfo;
  readonly clientCallbacks: ClientCallbacks;
  readonly workspace: WorkspaceLimit;
}

/** Parameters of a request to a session; the client adds the session's id. */
type SessionParams<M extends RequestMethod> = Omit<Params<M>, "session">;

/** The context, which a new session gets too. */
interface GivenContext {
  readonly given: unknown;
  readonly pack: ReturnType<typeof packContext>;
}

const DAEMON_LOST = { survived: false, checkpoint: null, reason: "daemon" } as const;

/** A sandbox whose session runs in the user's daemon. Its state is lost with the daemon. */
export class DaemonClientSandbox extends SandboxFiles implements AgentSandbox {
  readonly #createSession: () => Promise<DaemonSession>;
  readonly #sender = new OrderedSender();
  readonly #pending = new PendingCells();
  readonly #losses = new LossNotices();
  #session: DaemonSession;
  #context: GivenContext | undefined;
  #nextCell = 1;
  #number = 0;
  /** A new session counts from 1, so the client sends it the numbers of its cells. */
  #isReplaced = false;
  #ending: Promise<void> | undefined;

  constructor(createSession: () => Promise<DaemonSession>, session: DaemonSession) {
    super(session.workspace);
    this.#createSession = createSession;
    this.#session = session;
  }

  static async open(createSession: () => Promise<DaemonSession>): Promise<DaemonClientSandbox> {
    return new DaemonClientSandbox(createSession, await createSession());
  }

  get info(): SandboxInfo {
    return this.#session.info;
  }

  async initialize(context?: unknown): Promise<void> {
    const next: GivenContext = { given: context, pack: packContext(context) };
    await this.#send((session) => this.#sendContext(session, next));
    this.#context = next;
  }

  async execute(code: string, options: ExecuteOptions = {}): Promise<CodeExecution> {
    checkSource(code, options);
    using pending = this.#pending.enter(options.signal);
    return await this.#send(async (session) => ({
      answer: this.#run(session, code, options, pending),
    }));
  }

  async getVariable(name: string): Promise<unknown> {
    const answer = await this.#ask("session_get_variable", { name: String(name) });
    return answer.found ? decodeValue(JSON.parse(answer.value)) : undefined;
  }

  async setVariable(name: string, value: unknown): Promise<void> {
    checkVariableName(name);
    await this.#ask("session_set_variable", { name, value: JSON.stringify(encodeValue(value)) });
  }

  async variables(): Promise<readonly Variable[]> {
    return (await this.#ask("session_variables", {})).variables;
  }

  async complete(code: string, cursor = code.length): Promise<Completion> {
    return await completeAt(code, cursor, (at) => this.#ask("session_complete", at));
  }

  async isComplete(code: string): Promise<Completeness> {
    return await completenessOf(code, () => this.#ask("session_is_complete", { code }));
  }

  async getAgentState(): Promise<unknown> {
    return decodeValue(JSON.parse((await this.#ask("session_get_agent_state", {})).state));
  }

  async setAgentState(state: unknown): Promise<void> {
    await this.#ask("session_set_agent_state", { state: JSON.stringify(encodeValue(state)) });
  }

  async replayChain(code: string, log: ChainLog): Promise<ChainDivergence | undefined> {
    return (await this.#ask("session_replay_chain", { code, log })).divergence ?? undefined;
  }

  async putSpilled(files: readonly SpilledFile[]): Promise<string> {
    return (await this.#ask("session_put_spilled", { files: [...files] })).folder;
  }

  async cancel(): Promise<void> {
    this.#pending.cancel();
  }

  async checkpoints(): Promise<readonly Checkpoint[]> {
    return (await this.#ask("session_checkpoints", {})).checkpoints;
  }

  async undo(cells = 1): Promise<Checkpoint> {
    checkLimit("cells", cells, 1);
    return await this.#ask("session_undo", { cells });
  }

  async fork(): Promise<DaemonClientSandbox> {
    return await this.#send(async (session) => {
      const forked = session.connection.request("session_fork", { session: session.id });
      return { answer: forked.then(({ session: id }) => this.#fork({ ...session, id })) };
    });
  }

  #fork(session: DaemonSession): DaemonClientSandbox {
    session.clientCallbacks.join();
    const fork = new DaemonClientSandbox(this.#createSession, session);
    fork.#context = this.#context;
    return fork;
  }

  destroy(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Also while a host function answers a cell: the daemon decides what has to wait. */
  readonly askFiles: AskFiles = <M extends FileMethod>(
    method: M,
    order: FileOrder<M>,
    attachments?: readonly Uint8Array[],
  ) =>
    this.#sendInOrder(async ({ connection, id }) => {
      const params = { session: id, ...order } as unknown as Params<`session_${M}`>;
      const answer = connection.request(`session_${method}`, params, attachments);
      return { answer: answer as unknown as Promise<Result<M>> };
    });

  async #end(): Promise<void> {
    this.#pending.cancel();
    await this.#sender.send(async () => ({ answer: this.#close(this.#session) }));
  }

  async #close({ connection, id, listenerId, clientCallbacks }: DaemonSession): Promise<void> {
    try {
      if (connection.isOpen) await connection.request("session_destroy", { session: id });
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
    } finally {
      if (clientCallbacks.leave()) connection.listeners.delete(listenerId);
    }
  }

  cutNetwork(_reason: string): boolean {
    return false;
  }

  get isCalledFromWithin(): boolean {
    // Forks share the functions, and their cells may wait for each other.
    return this.#pending.isRunning && this.#session.clientCallbacks.isCalling;
  }

  #send<T>(prepare: (session: DaemonSession) => Promise<Sent<T>>): Promise<T> {
    if (this.#ending === undefined && this.isCalledFromWithin) {
      return Promise.reject(calledFromWithin());
    }
    return this.#sendInOrder(prepare);
  }

  #sendInOrder<T>(prepare: (session: DaemonSession) => Promise<Sent<T>>): Promise<T> {
    if (this.#ending !== undefined) return Promise.reject(closedError("the sandbox was destroyed"));
    return this.#sender.send(async () => {
      if (!this.#session.connection.isOpen) await this.#replaceSession();
      return await prepare(this.#session);
    });
  }

  #ask<M extends RequestMethod>(method: M, params: SessionParams<M>): Promise<Result<M>> {
    return this.#send(async ({ connection, id }) => ({
      answer: connection.request(method, { ...params, session: id } as Params<M>),
    }));
  }

  /** The daemon is gone: a new, empty session takes the place of the lost one. */
  async #replaceSession(): Promise<void> {
    const session = await this.#createSession();
    this.#losses.sessionReplaced(DAEMON_LOST);
    this.#isReplaced = true;
    this.#session = session;
    const context = this.#context;
    if (context === undefined) return;
    try {
      await (await this.#sendContext(session, context)).answer;
    } catch (error) {
      if (isConnectionLost(error)) throw error;
      // The session continues without what can no longer be loaded, such as a file that was removed.
      this.#context = undefined;
      this.#losses.add(withoutContext(error));
    }
  }

  async #sendContext(session: DaemonSession, { given, pack }: GivenContext): Promise<Sent<void>> {
    const { connection, id, listenerId, clientCallbacks } = session;
    const context = await pack(connection.daemon.pid);
    const answer = connection.request("session_initialize", { session: id, context }).then(() => {
      // The daemon sends a fork's context with each query.
      if (id === listenerId) clientCallbacks.context = given;
    });
    return { answer };
  }

  async #run(
    { connection, id, clientCallbacks, info }: DaemonSession,
    code: string,
    { timeout, maxOutputLength, argv, continues }: ExecuteOptions,
    pending: PendingCell,
  ): Promise<CodeExecution> {
    const cell = this.#nextCell++;
    pending.running = { stop: () => connection.notify("session_cancel", { session: id, cell }) };
    const started = Date.now();
    try {
      const answer = await connection.request("session_execute", {
        session: id,
        cell,
        code,
        cancelled: pending.cancelled,
        ...(timeout !== undefined && { timeout_ms: timeout }),
        ...(maxOutputLength !== undefined && { max_output: maxOutputLength }),
        ...(argv !== undefined && { argv: [...argv] }),
        ...(continues === true && { continues }),
        ...(this.#isReplaced && { number: this.#number + 1 }),
      });
      const execution = unpackExecution(answer, code, (index) => clientCallbacks.take(index));
      this.#number = execution.number;
      const state = joinReports(this.#losses.take(), execution.state);
      return { ...execution, state };
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
      this.#losses.isReported = true;
      this.#number += 1;
      return lostExecution({
        number: this.#number,
        code,
        duration: Date.now() - started,
        isolation: info.isolation,
        state: DAEMON_LOST,
        cancelled: pending.cancelled,
        reason: error.message,
      });
    }
  }
}
