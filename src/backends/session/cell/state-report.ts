import { describeError } from "../../../errors.js";
import type { Result } from "../../../protocol/messages.js";
import type { StateReport } from "../../backend.js";
import type { Branch } from "../branch.js";
import type { Session } from "../session.js";
import type { StepHistory } from "../step-history.js";

/** Why a state is not said to have survived although a copy of it was put in place. */
export const UNSEEN = "the restored process ended at once; the next result says what is left";

export function stateAfter(
  line: StepHistory,
  { checkpoint: plan }: Result<"execute">,
  notice: StateReport | undefined,
): StateReport {
  const held = heldState(line, plan);
  if (notice !== undefined) return { ...notice, ...held };
  const reason = plan.reason ?? "checkpoints are off";
  return { survived: true, ...held, ...(held.checkpoint === null && { reason }) };
}

type Plan = Result<"execute">["checkpoint"];

/** A checkpoint that is due is made before anything else; until another one is made, an earlier one counts. */
function heldState(line: StepHistory, { planned, due }: Plan) {
  if (!planned) return { checkpoint: null };
  if (due === true) return { checkpoint: line.present.id };
  const { held, unsaved } = line;
  return { checkpoint: held.id, ...(unsaved > 0 && { unsaved }) };
}

/** A loss stays told until a result has told it. */
export function joinReports(earlier: StateReport | undefined, later: StateReport): StateReport {
  if (earlier === undefined) return later;
  const lost = new Set([...(earlier.lostCells ?? []), ...(later.lostCells ?? [])]);
  const lostCells = [...lost].sort((one, other) => one - other);
  const reasons = new Set([earlier, later].flatMap(({ reason }) => reason?.split("; ") ?? []));
  return {
    ...later,
    survived: earlier.survived && later.survived,
    ...(lostCells.length > 0 && { lostCells }),
    ...(reasons.size > 0 && { reason: [...reasons].join("; ") }),
  };
}

/** A checkpoint took the place of a dead head: is it the state that was there before the cell? */
export function restoredState(
  line: StepHistory,
  restored: number,
  lost: readonly string[],
): StateReport {
  const gone = line.cut(restored);
  const { id, cell } = line.present;
  const base = { checkpoint: id, ...(lost.length > 0 && { lost }) };
  const lostCells = [...new Set(gone.map((step) => step.cell).filter((lost) => lost > cell))];
  if (gone.length === 0) return { survived: true, ...base };
  const kept = cell === 0 ? "an empty session" : `the state after cell ${cell}`;
  const reason = `restored ${kept}; lost what `;
  // What was put in from outside belongs to no cell.
  if (lostCells.length === 0) return { survived: false, ...base, reason: `${reason}was set since` };
  return {
    survived: false,
    ...base,
    lostCells,
    reason: `${reason}these cells did: ${ranges(lostCells)}`,
  };
}

/** `1, 2, 5 to 9`. */
function ranges(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  const words = runs.map(([first, last]) => {
    if (first === last) return `${first}`;
    return `${first}${last === first + 1 ? "," : " to"} ${last}`;
  });
  return words.join(", ");
}

/** A new session was made, but its context could not be loaded again. */
export function withoutContext(error: unknown): StateReport {
  const reason = `the context could not be loaded again: ${describeError(error)}`;
  return { survived: false, checkpoint: null, reason };
}

export async function lostState(session: Session): Promise<StateReport> {
  const { details } = await session.ended;
  return { survived: false, checkpoint: null, reason: String(details.reason ?? "session") };
}

/** What is there after going back, whatever has come of it. */
export async function takenBack(branch: Branch, going: Promise<void>): Promise<StateReport> {
  let reason: string | undefined;
  await going.catch((error: unknown) => {
    reason = describeError(error);
  });
  if (reason === undefined && !(await branch.isThere())) reason = UNSEEN;
  const checkpoint = branch.line.present.id;
  return reason === undefined
    ? { survived: true, checkpoint }
    : { survived: false, checkpoint, reason };
}

/** A restored state, as far as the process that holds it is ready and answers. */
export async function seenState(
  branch: Branch,
  report: StateReport,
  ready: Promise<void>,
): Promise<StateReport> {
  const isThere = await ready.then(() => branch.isThere()).catch(() => false);
  const checkpoint = branch.line.present.id;
  if (isThere) return { ...report, checkpoint };
  return joinReports(report, { survived: false, checkpoint, reason: UNSEEN });
}
