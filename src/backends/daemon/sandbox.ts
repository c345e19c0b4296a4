import { onAbort } from "../../concurrency/abort.js";
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
  StateReport,
} from "../backend.js";
import {
  type AskFiles,
  type FileMethod,
  type FileOrder,
  SandboxFiles,
} from "../files/sandbox-files.js";
import type { WorkspaceLimit } from "../files/workspace-file.js";
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
import { type DaemonConnection, isLinkLoss } from "./connection.js";
import { packContext } from "./context-codec.js";
import { OrderedSender, type Sent } from "./ordered-sender.js";
import { lostExecution, unpackExecution } from "./result-codec.js";

/** A session of the daemon, and who hears what it says. */
export interface DaemonSession {
  readonly link: DaemonConnection;
  readonly session: string;
  /** Under this name the session and its twins call; that of the first of them. */
  readonly calledAs: string;
  readonly info: SandboxInfo;
  readonly clientCallbacks: ClientCallbacks;
  readonly workspace: WorkspaceLimit;
}

/** A request to a session, of which the seat adds the name. */
type Order<M extends RequestMethod> = Omit<Params<M>, "session">;

/** The context, to be put into the next session too. */
interface GivenContext {
  readonly given: unknown;
  readonly pack: ReturnType<typeof packContext>;
}

interface Waiting {
  cancelled: boolean;
  sent: { readonly seat: DaemonSession; readonly cell: number } | undefined;
}

/** A sandbox that lives in the user's daemon. When the daemon is lost, so is its state. */
export class DaemonClientSandbox extends SandboxFiles implements AgentSandbox {
  readonly #takeSeat: () => Promise<DaemonSession>;
  readonly #sender = new OrderedSender();
  readonly #waiting = new Set<Waiting>();
  #seat: DaemonSession;
  #setup: GivenContext | undefined;
  #notice: StateReport | undefined;
  #isLossTold = false;
  #nextCell = 1;
  #number = 0;
  /** A new session counts from 1 unless it is told how far the one before came. */
  #isMoved = false;
  #ending: Promise<void> | undefined;

  constructor(takeSeat: () => Promise<DaemonSession>, seat: DaemonSession) {
    super(seat.workspace);
    this.#takeSeat = takeSeat;
    this.#seat = seat;
  }

  static async open(takeSeat: () => Promise<DaemonSession>): Promise<DaemonClientSandbox> {
    return new DaemonClientSandbox(takeSeat, await takeSeat());
  }

  get info(): SandboxInfo {
    return this.#seat.info;
  }

  async initialize(context?: unknown): Promise<void> {
    const setup: GivenContext = { given: context, pack: packContext(context) };
    await this.#post(async () => {
      const seat = await this.#seated();
      const { session } = seat;
      const wire = await setup.pack(seat.link.daemon.pid);
      return { answer: this.#furnish(seat, setup, { session, context: wire }) };
    });
    this.#setup = setup;
  }

  async execute(code: string, options: ExecuteOptions = {}): Promise<CodeExecution> {
    checkSource(code, options);
    const waiting: Waiting = { cancelled: false, sent: undefined };
    using _ = onAbort(options.signal, () => cancelOne(waiting));
    this.#waiting.add(waiting);
    try {
      return await this.#post(async () => {
        const seat = await this.#seated();
        return { answer: this.#run(seat, code, options, waiting) };
      });
    } finally {
      this.#waiting.delete(waiting);
    }
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

  async putSpilled(files: readonly SpilledFile[]): Promise<string> {
    return (await this.#ask("session_put_spilled", { files: [...files] })).folder;
  }

  async cancel(): Promise<void> {
    for (const waiting of this.#waiting) waiting.cancelled = true;
    const { link, session } = this.#seat;
    link.notify("session_cancel", { session, cell: null });
  }

  async checkpoints(): Promise<readonly Checkpoint[]> {
    return (await this.#ask("session_checkpoints", {})).checkpoints;
  }

  async undo(cells = 1): Promise<Checkpoint> {
    checkLimit("cells", cells, 1);
    return await this.#ask("session_undo", { cells });
  }

  async fork(): Promise<DaemonClientSandbox> {
    return await this.#post(async () => {
      const seat = await this.#seated();
      const forked = seat.link.request("session_fork", { session: seat.session });
      return { answer: forked.then(({ session }) => this.#twin(seat, session)) };
    });
  }

  #twin(seat: DaemonSession, session: string): DaemonClientSandbox {
    const clientCallbacks = seat.clientCallbacks.join();
    const twin = new DaemonClientSandbox(this.#takeSeat, {
      ...seat,
      session,
      clientCallbacks,
    });
    twin.#setup = this.#setup;
    return twin;
  }

  destroy(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Also while a function of the host answers a cell: the daemon knows what waits for what. */
  readonly askFiles: AskFiles = <M extends FileMethod>(
    method: M,
    order: FileOrder<M>,
    attachments?: readonly Uint8Array[],
  ) => {
    if (this.#ending !== undefined) return Promise.reject(closedError("the sandbox was destroyed"));
    return this.#sender.send(async () => {
      const { link, session } = await this.#seated();
      const request = { session, ...order } as unknown as Params<`session_${M}`>;
      const answer = link.request(`session_${method}`, request, attachments);
      return { answer: answer as unknown as Promise<Result<M>> };
    });
  };

  async #end(): Promise<void> {
    await this.cancel();
    await this.#sender.send(async () => ({ answer: this.#leave(this.#seat) }));
  }

  async #leave({ link, session, calledAs, clientCallbacks }: DaemonSession): Promise<void> {
    try {
      if (link.isOpen) await link.request("session_destroy", { session });
    } catch (error) {
      if (!isLinkLoss(error)) throw error;
    } finally {
      if (clientCallbacks.leave()) link.forget(calledAs);
    }
  }

  #post<T>(prepare: () => Promise<Sent<T>>): Promise<T> {
    if (this.#ending !== undefined) return Promise.reject(closedError("the sandbox was destroyed"));
    // Functions are shared with the twins, whose cells may wait for each other.
    const isRunning = [...this.#waiting].some(({ sent }) => sent !== undefined);
    if (isRunning && this.#seat.clientCallbacks.isCalling)
      return Promise.reject(calledFromWithin());
    return this.#sender.send(prepare);
  }

  #ask<M extends RequestMethod>(method: M, order: Order<M>): Promise<Result<M>> {
    return this.#post(async () => {
      const { link, session } = await this.#seated();
      return { answer: link.request(method, { ...order, session } as Params<M>) };
    });
  }

  /** Where the sandbox lives; in a new, empty session when the daemon was lost. */
  async #seated(): Promise<DaemonSession> {
    return this.#seat.link.isOpen ? this.#seat : await this.#move();
  }

  async #move(): Promise<DaemonSession> {
    const seat = await this.#takeSeat();
    if (!this.#isLossTold) {
      const loss = { survived: false, checkpoint: null, reason: "daemon" };
      this.#notice = joinReports(this.#notice, loss);
    }
    this.#isLossTold = false;
    this.#isMoved = true;
    this.#seat = seat;
    try {
      await this.#refurnish(seat);
    } catch (error) {
      if (isLinkLoss(error)) throw error;
      // The session goes on without what cannot be had any more, such as a file that is gone.
      this.#setup = undefined;
      this.#notice = joinReports(this.#notice, withoutContext(error));
    }
    return seat;
  }

  async #refurnish(seat: DaemonSession): Promise<void> {
    const setup = this.#setup;
    if (setup === undefined) return;
    const wire = await setup.pack(seat.link.daemon.pid);
    await this.#furnish(seat, setup, { session: seat.session, context: wire });
  }

  async #furnish(
    { link, session, calledAs, clientCallbacks }: DaemonSession,
    { given }: GivenContext,
    order: Params<"session_initialize">,
  ): Promise<void> {
    await link.request("session_initialize", order);
    // A twin's context is its own; the daemon tells it with each query.
    if (session === calledAs) clientCallbacks.context = given;
  }

  async #run(
    seat: DaemonSession,
    code: string,
    { timeout, maxOutputLength, argv, continues }: ExecuteOptions,
    waiting: Waiting,
  ): Promise<CodeExecution> {
    const { link, session, clientCallbacks, info } = seat;
    const cell = this.#nextCell++;
    waiting.sent = { seat, cell };
    const started = Date.now();
    try {
      const answer = await link.request("session_execute", {
        session,
        cell,
        code,
        cancelled: waiting.cancelled,
        ...(timeout !== undefined && { timeout_ms: timeout }),
        ...(maxOutputLength !== undefined && { max_output: maxOutputLength }),
        ...(argv !== undefined && { argv: [...argv] }),
        ...(continues === true && { continues }),
        ...(this.#isMoved && { number: this.#number + 1 }),
      });
      const execution = unpackExecution(answer, code, (index) => clientCallbacks.take(index));
      this.#number = execution.number;
      const notice = this.#notice;
      this.#notice = undefined;
      const { checkpoint } = execution.state;
      return notice === undefined
        ? execution
        : { ...execution, state: { ...joinReports(notice, execution.state), checkpoint } };
    } catch (error) {
      if (!isLinkLoss(error)) throw error;
      this.#isLossTold = true;
      this.#number += 1;
      const duration = Date.now() - started;
      const { cancelled } = waiting;
      const { message: reason } = error;
      return lostExecution({ number: this.#number, code, info, duration, cancelled, reason });
    }
  }
}

function cancelOne(waiting: Waiting): void {
  waiting.cancelled = true;
  if (waiting.sent === undefined) return;
  const { seat, cell } = waiting.sent;
  seat.link.notify("session_cancel", { session: seat.session, cell });
}
