import { FAULT_KINDS, type FaultKind } from "./faults.js";
import { Fixture, type GroundPlan } from "./fixture.js";
import type { Findings } from "./model.js";
import { Round, type RoundReport } from "./round.js";
import { SessionRound } from "./session-round.js";

export interface CampaignOrder extends GroundPlan {
  readonly rounds: number;
  readonly seed: number;
  readonly parallel: number;
  readonly only: readonly FaultKind[];
  /** Ends with the first round that loses something. */
  readonly stopsAtLoss: boolean;
  /** Lets the rounds end that have begun, and begins none. */
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

export interface CampaignReport {
  readonly rounds: number;
  readonly acknowledged: number;
  readonly kills: number;
  readonly stops: number;
  readonly strikes: number;
  readonly takeovers: number;
  readonly lost: number;
  readonly untrue: number;
  readonly leftBehind: number;
}

const PROGRESS_ROUNDS = 50;
/** Of the rounds, how many are about sandboxes and daemons, in a hundred. */
const SESSION_SHARE = 12;
const DAEMON_SHARE = 6;

/** Rounds one after the other on each of some lanes; a failed one is told with its seed. */
export async function runCampaign(order: CampaignOrder): Promise<CampaignReport> {
  await using fixture = new Fixture(order);
  if (fixture.shimAbsence !== undefined) {
    order.say(`no disk errors and stalls: ${fixture.shimAbsence}`);
  }
  const total = {
    rounds: 0,
    acknowledged: 0,
    kills: 0,
    stops: 0,
    strikes: 0,
    takeovers: 0,
    lost: 0,
    untrue: 0,
    leftBehind: 0,
  };
  let next = 0;
  const lane = async () => {
    while (next < order.rounds && !order.signal.aborted) {
      if (order.stopsAtLoss && total.lost > 0) break;
      const seed = order.seed + next;
      next += 1;
      const report = await roundOf(fixture, seed, order.only).run();
      total.rounds += 1;
      for (const [key, count] of Object.entries(report.counts)) {
        total[key as keyof RoundReport["counts"]] += count;
      }
      for (const key of ["lost", "untrue", "leftBehind"] as const) total[key] += report[key].length;
      if (isFailed(report) || order.rounds === 1) order.say(describeRound(report));
      if (total.rounds % PROGRESS_ROUNDS === 0) order.say(summaryOf(total));
    }
  };
  await Promise.all(Array.from({ length: order.parallel }, lane));
  const findings: Findings = { lost: [], untrue: [], leftBehind: [] };
  await fixture.inspect(findings);
  for (const one of findings.leftBehind) order.say(`left behind after all: ${one}`);
  total.leftBehind += findings.leftBehind.length;
  return total;
}

/** The kind of round follows from its seed alone, so that one can be done again. */
function roundOf(fixture: Fixture, seed: number, only: readonly FaultKind[]) {
  const kinds = only.length > 0 ? only : FAULT_KINDS;
  const rest = kinds.filter((kind) => kind !== "session" && kind !== "daemon");
  const share = (seed * 37) % 100;
  const isDaemon = kinds.includes("daemon") && (rest.length === 0 || share < DAEMON_SHARE);
  const isSession = kinds.includes("session") && (rest.length === 0 || share < SESSION_SHARE);
  if (isDaemon || isSession) return new SessionRound({ fixture, seed, isDaemon });
  return new Round({ fixture, seed, kinds: rest });
}

export function summaryOf(report: CampaignReport): string {
  const { rounds, acknowledged, kills, stops, strikes, takeovers, lost, untrue, leftBehind } =
    report;
  const faults = `kills ${kills}, stops ${stops}, disk errors ${strikes}, takeovers ${takeovers}`;
  const found = `lost ${lost}, untrue ${untrue}, left behind ${leftBehind}`;
  return `rounds ${rounds}, acknowledged ${acknowledged}, ${faults}, ${found}`;
}

function isFailed({ lost, untrue, leftBehind }: RoundReport): boolean {
  return lost.length + untrue.length + leftBehind.length > 0;
}

function describeRound(report: RoundReport): string {
  const { seed, lost, untrue, leftBehind, trail } = report;
  const list = (title: string, lines: readonly string[]) =>
    lines.map((line) => `  ${title}: ${line}`);
  return [
    `${isFailed(report) ? "round failed" : "round"}; again with: npm run faults -- --seed ${seed} --rounds 1`,
    ...list("lost", lost),
    ...list("untrue", untrue),
    ...list("left behind", leftBehind),
    ...trail.map((line) => `    ${line.replaceAll("\n", "\\n").slice(0, 220)}`),
  ].join("\n");
}
