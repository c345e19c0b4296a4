import { keepingAlive } from "../../concurrency/keep-alive.js";
import { TaskQueue } from "../../concurrency/task-queue.js";
import type { Settings } from "../../config.js";
import type { CellarError } from "../../errors.js";
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
  StateReport,
} from "../backend.js";
import { type AskFiles, SandboxFiles } from "../files/sandbox-files.js";
import { workspaceLimit } from "../files/workspace-file.js";
import type { Captured, CaptureOptions, OpenSink, StatefulSandbox } from "../stateful-sandbox.js";
import { Branch, type Death, type Question } from "./branch.js";
import type { Callbacks } from "./cell/callbacks.js";
import { HostCalls } from "./cell/host-calls.js";
import { LossNotices } from "./cell/loss-notices.js";
import { type PendingCell, PendingCells } from "./cell/pending-cells.js";
import * as results from "./cell/result.js";
import { type CellEnd, RunningCell } from "./cell/running-cell.js";
import * as reports from "./cell/state-report.js";
import * as checks from "./checks.js";
import { COMPLETION_MS, completeAt, completenessOf } from "./completion.js";
import { contextOf } from "./context/context.js";
import { askFiles, type FileKeeper } from "./file-requests.js";
import type { SessionFactory, SessionLease } from "./lease.js";
import { SessionSetup } from "./setup.js";
import { StateCapture } from "./state/state-capture.js";
import { StepHistory } from "./step-history.js";

const CLOSING_MS = 5_000;

/** A Python of one's own: cells run one at a time, and their state stays. */
export class PythonSandbox extends SandboxFiles implements StatefulSandbox, AgentSandbox {
  readonly #openSession: SessionFactory;
  readonly #settings: Settings;
  readonly #callbacks: Callbacks;
  readonly #queue = new TaskQueue();
  readonly #waiting = new PendingCells();
  #lease: SessionLease;
  #branch: Branch;
  readonly #calls: HostCalls;
  readonly #setup: SessionSetup;
  /** Nothing is there yet but what a new session could have as well. */
  #isFresh: boolean;
  #nextStep: number;
  #number: number;
  readonly #losses = new LossNotices();
  /** Of heads between cells, not told yet. */
  readonly #deaths: StateReport[] = [];
  #ending: Promise<void> | undefined;

  constructor(
    openSession: SessionFactory,
    lease: SessionLease,
    settings: Settings,
    callbacks: Callbacks,
    start: { branch: number; line: StepHistory; step: number; number: number },
  ) {
    super(workspaceLimit(settings.limits));
    this.#openSession = openSession;
    this.#lease = lease;
    this.#settings = settings;
    this.#callbacks = callbacks;
    this.#setup = new SessionSetup(callbacks, settings, () => this.#nextStep++);
    const givenAt = (step: number) => this.#setup.givenAt(step, this.#lease);
    this.#calls = new HostCalls(callbacks, givenAt, settings);
    this.#isFresh = start.branch === 0;
    this.#nextStep = start.step;
    this.#number = start.number;
    this.#branch = this.#attachBranch(start.branch, start.line);
  }

  static async open<T extends PythonSandbox>(
    Kind: new (...parts: ConstructorParameters<typeof PythonSandbox>) => T,
    openSession: SessionFactory,
    settings: Settings,
    callbacks: Callbacks,
    step = 1,
  ): Promise<T> {
    const lease = await openSession();
    const start = { branch: 0, line: new StepHistory(), step, number: 0 };
    const sandbox = new Kind(openSession, lease, settings, callbacks, start);
    const ready = sandbox.#queue.run(() => sandbox.#setUp());
    await ready.catch((error: unknown) => sandbox.destroy().then(() => Promise.reject(error)));
    return sandbox;
  }

  get info(): SandboxInfo {
    return this.#lease.info;
  }

  async initialize(context?: unknown): Promise<void> {
    const settle = contextOf(context);
    await this.#task(async () => {
      const next = await settle();
      if (next.kind === "large" && this.#isFresh && this.#lease.canHoldContexts) {
        const lease = await this.#openSession(next);
        this.#setup.context = next;
        await this.#switchTo(lease);
      } else {
        await this.#setup.place(this.#branch, next);
        this.#setup.context = next;
      }
    });
  }

  async execute(code: string, options: ExecuteOptions = {}): Promise<CodeExecution> {
    checks.checkSource(code, options);
    using waiting = this.#waiting.enter(options.signal);
    return await this.#task(() => this.#run(code, options, waiting));
  }

  async getVariable(name: string): Promise<unknown> {
    const answer = await this.#ask("get_variable", { name: String(name) });
    return answer.found ? decodeValue(answer.value) : undefined;
  }

  async setVariable(name: string, value: unknown): Promise<void> {
    checks.checkVariableName(name);
    const encoded = encodeValue(value);
    await this.#task(() => {
      this.#isFresh = false;
      return this.#setup.set(this.#branch, name, encoded, value);
    });
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
    await this.#task(() => this.#setup.setAgentState(this.#branch, encoded));
  }

  async putSpilled(files: readonly SpilledFile[]): Promise<string> {
    return (await this.#ask("put_spilled", { files: [...files] })).folder;
  }

  /** Hands the present state piece by piece to what `open` gives, while cells go on. */
  async capture(open: OpenSink, options: CaptureOptions): Promise<Captured> {
    if (this.#ending !== undefined) throw destroyed();
    const capture = new StateCapture(this.#branch, options, open, (work) => this.#task(work));
    return keepingAlive(capture.run(this.info));
  }

  /** The next cell gets this number, or one above those that were used already. */
  numberNext(number: number): void {
    this.#number = Math.max(this.#number, number - 1);
  }

  /** Puts the variables of a captured state into this new session. */
  restore(file?: string): Promise<RestoreReport> {
    const given = checks.hasCheckpoints(this.info) ? undefined : file;
    return this.#task(() => keepingAlive(this.#setup.restore(this.#branch, given)));
  }

  async cancel(): Promise<void> {
    this.#waiting.cancel();
  }

  checkpoints(): Promise<readonly Checkpoint[]> {
    return this.#task(async () => {
      checks.checkAbility(this.info, "checkpoints()");
      return this.#branch.line.kept(await this.#alive());
    });
  }

  async undo(cells = 1): Promise<Checkpoint> {
    checks.checkLimit("cells", cells, 1);
    return await this.#task(async () => {
      checks.checkAbility(this.info, "undo()");
      const target = this.#branch.line.undoing(cells, await this.#alive());
      await this.#goTo(target.id);
      return target;
    });
  }

  fork(): Promise<this> {
    return this.#task(async () => {
      checks.checkAbility(this.info, "fork()");
      const { line } = this.#branch;
      const { present } = line;
      if (!(await line.untilParked(present.id))) throw checks.unforkable();
      const twin = this.#lease.share();
      const { branch } = twin;
      const history = new StepHistory(present);
      const start = { branch, line: history, step: this.#nextStep, number: this.#number };
      const Kind = this.constructor as typeof PythonSandbox;
      const parts = [this.#openSession, twin, this.#settings, this.#callbacks] as const;
      const fork = new Kind(...parts, start) as this;
      fork.#setup.copyFrom(this.#setup);
      this.#isFresh = false;
      // It listens before it is made, for its first checkpoint may be told with the answer.
      const made = this.#branch.forkFrom(present.id, branch);
      await made.catch((error: unknown) => fork.destroy().then(() => Promise.reject(error)));
      if (present.id === 0) await fork.#setUp();
      return fork;
    });
  }

  destroy(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#waiting.cancel();
    const impatience = setInterval(() => this.#branch.breakOff(), this.#settings.grace);
    const left = this.#queue.run(() => this.#lease.leave(CLOSING_MS));
    await left.finally(() => clearInterval(impatience));
  }

  readonly askFiles: AskFiles = (method, order, attachments) => {
    if (this.#ending !== undefined) return Promise.reject(destroyed());
    // What holds a file is not to be exchanged for a new session.
    if (method === "open_file") this.#isFresh = false;
    const place = () => ({ lease: this.#lease, branch: this.#branch });
    const keeper: FileKeeper = { limit: this.workspace, place, task: (work) => this.#task(work) };
    return askFiles(keeper, method, order, attachments);
  };

  #task<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ending !== undefined) return Promise.reject(destroyed());
    if (this.#calls.isCalling) return Promise.reject(checks.calledFromWithin());
    return this.#queue.run(async () => {
      while (this.#deaths.length > 0) await this.#tellDeaths();
      if (!this.#lease.session.isAlive) await this.#replaceSession();
      return work();
    });
  }

  #ask<M extends Question>(method: M, params: Params<M>, limit = this.#settings.timeout) {
    return this.#task(() => this.#branch.question(method, params, limit));
  }

  #attachBranch(number: number, line: StepHistory): Branch {
    return new Branch(
      this.#lease.session,
      number,
      line,
      ({ text, stream }) => this.#callbacks.onBackground?.(text, stream),
      (death) => this.#onHeadDied(death),
    );
  }

  /** The session is gone as a whole: a new, empty one takes its place, and one result says so. */
  async #replaceSession(): Promise<void> {
    const loss = await reports.lostState(this.#lease.session);
    const { context } = this.#setup;
    try {
      await this.#switchTo(
        await this.#openSession(context?.kind === "large" ? context : undefined),
      );
    } catch (error) {
      if (context === undefined) throw error;
      const lease = await this.#openSession();
      // The session goes on without what cannot be had any more, such as a file that is gone.
      this.#setup.context = undefined;
      await this.#switchTo(lease);
      this.#losses.add(reports.withoutContext(error));
    }
    this.#isFresh = true;
    this.#losses.sessionReplaced(loss);
  }

  async #switchTo(lease: SessionLease): Promise<void> {
    const left = this.#lease;
    this.#lease = lease;
    this.#branch = this.#attachBranch(lease.branch, new StepHistory());
    await left.leave();
    await this.#setUp();
  }

  #setUp(): Promise<void> {
    return this.#setup.install(this.#branch, this.#lease);
  }

  #alive(): Promise<ReadonlySet<number>> {
    return this.#branch.alive(this.#settings.checkpoints === "always" ? 1000 : 0);
  }

  async #run(code: string, options: ExecuteOptions, waiting: PendingCell): Promise<CodeExecution> {
    const limits = results.cellLimits(this.#settings, options);
    const number = ++this.#number;
    const step = this.#nextStep++;
    const parts = { callbacks: this.#callbacks, calls: this.#calls };
    const cell = new RunningCell(this.#branch, { step, number, code, ...limits, ...parts });
    if (waiting.cancelled)
      return results.unrun(cell, this.#branch.line, { number, code, info: this.info });
    this.#isFresh = false;
    waiting.running = cell;
    const started = performance.now();
    const end = await cell.run();
    const duration = performance.now() - started;
    waiting.running = undefined;
    const notice = this.#losses.take();
    const concluded = await this.#conclude(end, cell, { step, number, notice });
    const about = { number, code, duration, isolation: this.info.isolation };
    return results.assemble(cell, end, { ...about, ...concluded }, this.#settings);
  }

  async #conclude(
    end: CellEnd,
    cell: RunningCell,
    run: { step: number; number: number; notice: StateReport | undefined },
  ): Promise<Pick<CodeExecution, "status" | "error" | "result" | "exitCode" | "state">> {
    if (end.kind === "answered") {
      const { answer } = end;
      const { status, error } = results.describeAnswer(answer, cell);
      const undone = ["timeout", "oom"].includes(status) ? await this.#takeBack() : undefined;
      if (undone === undefined) this.#branch.line.add({ id: run.step, cell: run.number });
      if (!answer.checkpoint.planned) this.#branch.line.unparkable(run.step);
      const state =
        undone === undefined
          ? reports.stateAfter(run.step, answer, this.#settings.checkpoints, run.notice)
          : reports.joinReports(run.notice, undone);
      return { status, error, result: answer.result, exitCode: answer.exit_code, state };
    }
    const { status, error } = results.describeDeath(end, cell);
    // It had answered and was copied before it died: what came back holds this cell's work too.
    if (end.kind === "died" && end.death.restored === run.step) {
      this.#branch.line.add({ id: run.step, cell: run.number });
    }
    const { line, lost } = this.#branch;
    const died = end.kind === "died" && reports.restoredState(line, end.death.restored, lost);
    const restored = died === false ? undefined : await this.#restoredIfSeen(died);
    this.#losses.isReported = restored === undefined;
    const state = restored ?? (await reports.lostState(this.#lease.session));
    const told = reports.joinReports(run.notice, state);
    return { status, error, result: null, exitCode: null, state: told };
  }

  /** Time or memory ran out, but the head lives: the state before the cell comes back all the same. */
  async #takeBack(): Promise<StateReport | undefined> {
    if (!checks.hasCheckpoints(this.info) || this.#settings.checkpoints === "off") return undefined;
    const { id } = this.#branch.line.present;
    if (id !== 0 && !(await this.#alive()).has(id)) return undefined;
    return await reports.takenBack(this.#branch, this.#goTo(id));
  }

  /** Also when another state than the one asked for came back. */
  async #goTo(checkpoint: number): Promise<void> {
    try {
      await this.#branch.rollback(checkpoint);
    } finally {
      if (this.#branch.line.present.id === 0) await this.#setUp();
    }
  }

  /** Only what was seen to be there has survived; undefined when the session is gone as a whole. */
  async #restoredIfSeen(report: StateReport): Promise<StateReport | undefined> {
    const ready = this.#branch.line.present.id === 0 ? this.#setUp() : Promise.resolve();
    const seen = await reports.seenState(this.#branch, report, ready);
    return this.#lease.session.isAlive ? seen : undefined;
  }

  /** The head died between cells: whatever comes next goes on from what took its place. */
  #onHeadDied(death: Death): void {
    // At once: what is asked for next may go to another state.
    this.#deaths.push(reports.restoredState(this.#branch.line, death.restored, this.#branch.lost));
    this.#queue.run(() => this.#tellDeaths());
  }

  async #tellDeaths(): Promise<void> {
    for (const restored of this.#deaths.splice(0)) {
      const report = await this.#restoredIfSeen(restored);
      // Where nothing took its place, the next session tells.
      if (report === undefined) return;
      const reason = report.reason ?? "the process ended between two cells and was restored";
      this.#losses.add({ ...report, reason });
    }
  }
}

function destroyed(): CellarError {
  return checks.closedError("the sandbox was destroyed");
}
