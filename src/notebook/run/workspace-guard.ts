import type { FileChanges } from "../cell.js";
import { flagPrivate, type PrivacyGuard } from "../privacy-guard.js";
import { describeOverrun, type Overrun } from "../workspace/quota.js";
import type { Scan, Usage } from "../workspace/scan.js";
import type { SessionFiles } from "./session-files.js";
import type { SessionKeeper } from "./session-keeper.js";

const PACE_MS = 5_000;
const FULL_PACE_MS = 1_000;
const NEARLY_FULL = 0.8;
/** A workspace that takes long to count is counted less often. */
const SHARE_OF_TIME = 20;

export interface GuardPlan {
  readonly keeper: SessionKeeper;
  readonly sessionFiles: SessionFiles;
  readonly privacy: Pick<PrivacyGuard, "isLooking" | "survey">;
  /** Between two cells. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
}

/** A run whose files were counted before, meanwhile and after. */
export interface WatchedRun<T> {
  readonly ran: T;
  readonly files: FileChanges;
  /** Set where the run filled the workspace. */
  readonly overrun: Overrun | undefined;
  /** Set where there was too much before the run already. */
  readonly excess: Overrun | undefined;
  /** Set where the run was stopped because its files could not be counted. */
  readonly uncounted: unknown;
}

/** Watches the workspace in cells and between: processes left running may neither fill it nor bring private files. */
export class WorkspaceGuard implements Disposable {
  readonly #plan: GuardPlan;
  readonly #end = new AbortController();
  /** The workspace after the last cell. */
  #scan: Scan | undefined;
  #held: Usage | undefined;
  #first: Usage | undefined;
  #isOutdated = false;
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(plan: GuardPlan) {
    this.#plan = plan;
    this.#arm(plan.privacy.isLooking ? FULL_PACE_MS : PACE_MS);
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    clearTimeout(this.#timer);
  }

  /** The host has changed files, which the next cell does not list as its own. */
  forgetFiles(): void {
    this.#scan = undefined;
  }

  /** Runs a cell and aborts `stopping` when it fills the workspace; an `Overrun` where it may not even begin. */
  async watchCell<T>(
    stopping: AbortController,
    run: () => Promise<T>,
  ): Promise<WatchedRun<T> | Overrun> {
    const { privacy, keeper, sessionFiles } = this.#plan;
    const { workspace } = sessionFiles;
    // Background processes may have written private files, which this cell could send.
    if (await privacy.survey(workspace)) await flagPrivate(await keeper.ready());
    this.#isRunning = true;
    try {
      const before = this.#scan ?? (await workspace.scan());
      const held = await this.#count(before);
      if (workspace.quota.isBeyond(held)) return { ...held, limit: workspace.limit };
      const watched = await this.#watch(stopping, held, run);
      const { changes, scan } = await workspace.changesSince(before);
      this.#scan = scan;
      this.#held = scan.usage;
      const overrun = watched.overrun ?? workspace.quota.judge(scan.usage, held);
      const excess = overrun === undefined ? workspace.quota.judge(scan.usage) : undefined;
      return { ...watched, files: changes, overrun, excess };
    } finally {
      this.#isRunning = false;
    }
  }

  async #watch<T>(stopping: AbortController, held: Usage, run: () => Promise<T>) {
    let overrun: Overrun | undefined;
    let uncounted: unknown;
    const over = (found: Overrun) => {
      overrun = found;
      stopping.abort();
    };
    const failed = (error: unknown) => {
      uncounted = error;
      stopping.abort();
    };
    using _watch = this.#plan.sessionFiles.workspace.quota.watch(over, failed, held);
    const ran = await run();
    return { ran, overrun, uncounted };
  }

  /** Counts again where there was too much, or processes have changed files since. */
  async #count({ usage }: Scan): Promise<Usage> {
    const { workspace } = this.#plan.sessionFiles;
    const isCounted = !this.#isOutdated && workspace.quota.judge(usage) === undefined;
    this.#held = isCounted ? usage : await workspace.usage();
    this.#isOutdated = false;
    return this.#held;
  }

  #arm(pace: number): void {
    if (this.#end.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#look(), pace).unref();
  }

  async #look(): Promise<void> {
    const { inTurn, privacy } = this.#plan;
    const began = performance.now();
    let pace = FULL_PACE_MS;
    try {
      await this.#lookForPrivateFiles();
      const seen = await this.#overrun();
      if (seen.overrun !== undefined) await inTurn(() => this.#endSession());
      else if (seen.share < NEARLY_FULL && !privacy.isLooking) pace = PACE_MS;
    } catch {
      // The next cell cannot count its files either, and says so.
    }
    this.#arm(Math.max(pace, SHARE_OF_TIME * (performance.now() - began)));
  }

  async #lookForPrivateFiles(): Promise<void> {
    const { privacy, sessionFiles, keeper, inTurn } = this.#plan;
    if (!(await privacy.survey(sessionFiles.workspace))) return;
    // The network is cut by now; where nothing enforces that, the next cell gets the flag.
    void inTurn(async () => flagPrivate(await keeper.ready())).catch(() => {});
  }

  /** A running cell has a watch of its own. */
  async #overrun(): Promise<{ share: number; overrun?: Overrun | undefined }> {
    const { workspace } = this.#plan.sessionFiles;
    if (this.#isRunning) return { share: 0 };
    const usage = await workspace.usage(this.#end.signal);
    const share = workspace.quota.shareOf(usage);
    if (this.#isRunning) return { share };
    this.#first ??= usage;
    return { share, overrun: workspace.quota.judge(usage, this.#held ?? this.#first) };
  }

  async #endSession(): Promise<void> {
    const { overrun } = await this.#overrun();
    if (overrun === undefined) return;
    const { message } = describeOverrun(overrun);
    this.#isOutdated = true;
    await this.#plan.keeper.end(
      `the session was ended because processes it left running filled the workspace (${message})`,
    );
  }
}
