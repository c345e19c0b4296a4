import { TaskQueue } from "../../concurrency/task-queue.js";
import type { Settings } from "../../config.js";
import type { RestoreReport } from "../../protocol/messages.js";
import type { Json } from "../../protocol/values.js";
import type {
  Checkpoint,
  CodeExecution,
  ExecuteOptions,
  ExecutionStatus,
  SandboxInfo,
  StateReport,
} from "../backend.js";
import { Branch, type Death } from "./branch.js";
import type { Callbacks } from "./cell/callbacks.js";
import { HostCalls } from "./cell/host-calls.js";
import { LossNotices } from "./cell/loss-notices.js";
import type { PendingCell } from "./cell/pending-cells.js";
import * as results from "./cell/result.js";
import { type CellEnd, RunningCell } from "./cell/running-cell.js";
import * as reports from "./cell/state-report.js";
import * as checks from "./checks.js";
import type { Context } from "./context/context.js";
import type { SessionFactory, SessionLease } from "./lease.js";
import { SessionSetup } from "./setup.js";
import { StepHistory } from "./step-history.js";

export interface SessionParts {
  readonly sessions: SessionFactory;
  readonly settings: Settings;
  readonly callbacks: Callbacks;
}

/** The session that a sandbox has now: runs its cells, and knows what has become of its state. */
export class CurrentSession {
  readonly #parts: SessionParts;
  readonly #queue = new TaskQueue();
  readonly #calls: HostCalls;
  readonly #setup: SessionSetup;
  #lease: SessionLease;
  #branch: Branch;
  /** It holds nothing that a new session would not have as well. */
  #isFresh: boolean;
  #nextStep: number;
  #number: number;
  readonly #losses = new LossNotices();
  /** Of heads that died between cells, not reported yet. */
  readonly #deaths: StateReport[] = [];

  constructor(
    parts: SessionParts,
    lease: SessionLease,
    start = { line: new StepHistory(), step: 1, number: 0 },
  ) {
    const { callbacks, settings } = parts;
    this.#parts = parts;
    this.#lease = lease;
    this.#setup = new SessionSetup(callbacks, settings, () => this.#nextStep++);
    const givenAt = (step: number) => this.#setup.givenAt(step, this.#lease);
    this.#calls = new HostCalls(callbacks, givenAt, settings);
    this.#isFresh = lease.branch === 0;
    this.#nextStep = start.step;
    this.#number = start.number;
    this.#branch = this.#attachBranch(start.line);
  }

  get info(): SandboxInfo {
    return this.#lease.info;
  }

  get lease(): SessionLease {
    return this.#lease;
  }

  get branch(): Branch {
    return this.#branch;
  }

  /** Whether the caller is a function that the running cell waits for. */
  get isCalling(): boolean {
    return this.#calls.isCalling;
  }

  /** Runs work after everything before it, in a session that is alive. */
  task<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      while (this.#deaths.length > 0) await this.#reportDeaths();
      if (!this.#lease.session.isAlive) await this.#replaceSession();
      return work();
    });
  }

  /** Gives a new session what it needs before its first cell, where there is any of that. */
  async start(): Promise<void> {
    if (!this.#setup.isEmpty) await this.#queue.run(() => this.#setUp());
  }

  leave(milliseconds: number): Promise<void> {
    return this.#queue.run(() => this.#lease.leave(milliseconds));
  }

  /** What is there now must stay: it is not replaced by a session with a context in it. */
  keep(): void {
    this.#isFresh = false;
  }

  numberNext(number: number): void {
    this.#number = Math.max(this.#number, number - 1);
  }

  async initialize(context: Context): Promise<void> {
    if (context.kind === "large" && this.#isFresh && this.#lease.facts.canHoldContexts === true) {
      const lease = await this.#parts.sessions.open(context);
      this.#setup.context = context;
      await this.#switchTo(lease);
    } else {
      await this.#setup.place(this.#branch, context);
      this.#setup.context = context;
    }
  }

  async setVariable(name: string, encoded: Json, value: unknown): Promise<void> {
    this.#isFresh = false;
    await this.#setup.set(this.#branch, name, encoded, value);
  }

  async setAgentState(state: Json): Promise<void> {
    this.#isFresh = false;
    await this.#setup.setAgentState(this.#branch, state);
  }

  restore(file: string | undefined): Promise<RestoreReport> {
    return this.#setup.restore(this.#branch, file);
  }

  async run(code: string, options: ExecuteOptions, pending: PendingCell): Promise<CodeExecution> {
    const { settings, callbacks } = this.#parts;
    const number = ++this.#number;
    const step = this.#nextStep++;
    const limits = results.cellLimits(settings, options);
    const order = { step, number, code, ...limits, callbacks, calls: this.#calls };
    const cell = new RunningCell(this.#branch, order);
    const { info } = this;
    if (pending.cancelled) return results.unrun(cell, this.#branch.line, { number, code, info });
    this.#isFresh = false;
    pending.running = cell;
    const started = performance.now();
    const end = await cell.run();
    const duration = performance.now() - started;
    pending.running = undefined;
    this.#lease.session.isQuiet = end.kind === "answered" && end.answer.output !== undefined;
    const outcome = results.outcomeOf(end, cell, settings);
    const state = await this.#stateAfter(end, outcome.status, { id: step, cell: number });
    const { isolation } = info;
    return results.assemble(cell, end, { number, code, duration, isolation, state, ...outcome });
  }

  /** The steps whose checkpoints are alive, in a moment also that of the last cell. */
  alive(): Promise<ReadonlySet<number>> {
    return this.#branch.alive(this.#parts.settings.checkpoints === "off" ? 0 : 1000);
  }

  /** Where another state than the wanted one came back, that one is set up as well. */
  async goTo(checkpoint: number): Promise<void> {
    try {
      await this.#branch.rollback(checkpoint);
    } finally {
      if (this.#branch.line.present.id === 0) await this.#setUp();
    }
  }

  async fork(): Promise<CurrentSession> {
    const { line } = this.#branch;
    const { present } = line;
    if (!(await line.untilParked(present.id))) throw checks.unforkable();
    const start = {
      line: line.forked(),
      step: this.#nextStep,
      number: this.#number,
    };
    // It listens before it is made, since its first checkpoint may come with the answer.
    const twin = new CurrentSession(this.#parts, this.#lease.share(), start);
    twin.#setup.copyFrom(this.#setup);
    this.#isFresh = false;
    try {
      await this.#branch.forkFrom(present.id, twin.#lease.branch);
      if (present.id === 0) await twin.#setUp();
    } catch (error) {
      await twin.#lease.leave();
      throw error;
    }
    return twin;
  }

  #attachBranch(line: StepHistory): Branch {
    const { session, branch } = this.#lease;
    return new Branch(
      session,
      branch,
      line,
      ({ text, stream }) => this.#parts.callbacks.onBackground?.(text, stream),
      (death) => this.#onHeadDied(death),
    );
  }

  #setUp(): Promise<void> {
    return this.#setup.install(this.#branch, this.#lease);
  }

  /** The session is gone as a whole: an empty one takes its place, and one result says so. */
  async #replaceSession(): Promise<void> {
    const { sessions } = this.#parts;
    const loss = await reports.lostState(this.#lease.session);
    const { context } = this.#setup;
    try {
      await this.#switchTo(await sessions.open(context?.kind === "large" ? context : undefined));
    } catch (error) {
      if (context === undefined) throw error;
      const lease = await sessions.open();
      // Without what cannot be loaded any more, such as a file that is gone.
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
    this.#branch = this.#attachBranch(new StepHistory());
    await left.leave();
    await this.#setUp();
  }

  /** What the cell left behind, with any loss before it that no result has reported. */
  async #stateAfter(end: CellEnd, status: ExecutionStatus, step: Checkpoint): Promise<StateReport> {
    const notice = this.#losses.take();
    const { line, lost } = this.#branch;
    if (end.kind === "answered") {
      const undone = ["timeout", "oom"].includes(status) ? await this.#takeBack() : undefined;
      if (!end.answer.checkpoint.planned) line.unparkable(step.id);
      if (undone !== undefined) return reports.joinReports(notice, undone);
      line.add(step);
      return reports.stateAfter(line, end.answer, notice);
    }
    // It had answered and was copied before it died: the copy holds this cell's work too.
    if (end.kind === "died" && end.death.restored === step.id) line.add(step);
    const restored =
      end.kind === "died"
        ? await this.#restoredIfSeen(reports.restoredState(line, end.death.restored, lost))
        : undefined;
    this.#losses.isReported = restored === undefined;
    const state = restored ?? (await reports.lostState(this.#lease.session));
    return reports.joinReports(notice, state);
  }

  /** Time or memory ran out and the head is alive: goes back to the state before the cell. */
  async #takeBack(): Promise<StateReport | undefined> {
    if (!checks.hasCheckpoints(this.info) || this.#parts.settings.checkpoints === "off")
      return undefined;
    const { id } = this.#branch.line.present;
    if (id !== 0 && !(await this.alive()).has(id)) return undefined;
    return await reports.takenBack(this.#branch, this.goTo(id));
  }

  /** Only what answers has survived; undefined when the session is gone as a whole. */
  async #restoredIfSeen(report: StateReport): Promise<StateReport | undefined> {
    const ready = this.#branch.line.present.id === 0 ? this.#setUp() : Promise.resolve();
    const seen = await reports.seenState(this.#branch, report, ready);
    return this.#lease.session.isAlive ? seen : undefined;
  }

  /** The head died between cells: what comes next continues from what took its place. */
  #onHeadDied(death: Death): void {
    // At once: the next call may go to another state.
    this.#deaths.push(reports.restoredState(this.#branch.line, death.restored, this.#branch.lost));
    this.#queue.run(() => this.#reportDeaths());
  }

  async #reportDeaths(): Promise<void> {
    for (const restored of this.#deaths.splice(0)) {
      const report = await this.#restoredIfSeen(restored);
      // Where nothing took its place, the next session reports it.
      if (report === undefined) return;
      const reason = report.reason ?? "the process ended between two cells and was restored";
      this.#losses.add({ ...report, reason });
    }
  }
}
