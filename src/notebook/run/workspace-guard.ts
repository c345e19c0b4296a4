import { flagPrivate, type PrivacyGuard } from "../privacy.js";
import { describeOverrun, type Overrun } from "../workspace/quota.js";
import type { Usage } from "../workspace/scan.js";
import type { Workspace } from "../workspace/workspace.js";
import type { CellRunner } from "./cell-runner.js";
import type { SessionKeeper } from "./session-keeper.js";

const PACE_MS = 5_000;
const FULL_PACE_MS = 1_000;
const NEARLY_FULL = 0.8;
/** A workspace that takes long to count is counted less often. */
const SHARE_OF_TIME = 20;

export interface GuardPlan {
  readonly keeper: SessionKeeper;
  readonly runner: CellRunner;
  readonly workspace: Pick<Workspace, "usage" | "quota" | "files">;
  readonly privacy: Pick<PrivacyGuard, "isLooking" | "survey">;
  /** Between two cells. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
}

/** Looks at the workspace again and again: what was left running must neither fill it nor bring private files. */
export class WorkspaceGuard implements Disposable {
  readonly #plan: GuardPlan;
  readonly #end = new AbortController();
  /** What lay there before any cell. */
  #first: Usage | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(plan: GuardPlan) {
    this.#plan = plan;
    this.#arm(plan.privacy.isLooking ? FULL_PACE_MS : PACE_MS);
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    clearTimeout(this.#timer);
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
      // The next cell says so, for it cannot count its files either.
    }
    this.#arm(Math.max(pace, SHARE_OF_TIME * (performance.now() - began)));
  }

  /** While a cell runs too: it could send what a process beside it has brought. */
  async #lookForPrivateFiles(): Promise<void> {
    const { privacy, workspace, keeper, inTurn } = this.#plan;
    if (!(await privacy.survey(workspace))) return;
    // The cut is done; where no wall makes it, the next cell is told.
    void inTurn(async () => flagPrivate(await keeper.ready())).catch(() => {});
  }

  /** While a cell runs, its own watch is on. */
  async #overrun(): Promise<{ share: number; overrun?: Overrun | undefined }> {
    const { runner, workspace } = this.#plan;
    if (runner.isRunning) return { share: 0 };
    const usage = await workspace.usage(this.#end.signal);
    const share = workspace.quota.shareOf(usage);
    if (runner.isRunning) return { share };
    this.#first ??= usage;
    return { share, overrun: workspace.quota.judge(usage, runner.held ?? this.#first) };
  }

  async #endSession(): Promise<void> {
    const { overrun } = await this.#overrun();
    if (overrun === undefined) return;
    const { message } = describeOverrun(overrun);
    this.#plan.runner.recount();
    await this.#plan.keeper.end(
      `the session was ended, as what it left running filled the workspace (${message})`,
    );
  }
}
