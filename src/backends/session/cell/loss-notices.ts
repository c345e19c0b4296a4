import type { StateReport } from "../../backend.js";
import { joinReports } from "./state-report.js";

/** Losses of state that results have to report, each of them once. */
export class LossNotices {
  #pending: StateReport | undefined;
  /** Whether the cell in which the session was lost has reported it. */
  isReported = false;

  add(report: StateReport): void {
    this.#pending = joinReports(this.#pending, report);
  }

  /** A new session took the place of one that was lost. */
  sessionReplaced(loss: StateReport): void {
    if (!this.isReported) this.add(loss);
    this.isReported = false;
  }

  take(): StateReport | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending;
  }
}
