import { shutdown } from "../../../src/index.js";
import { Burst, type BurstReport } from "./burst.js";
import { Ground } from "./ground.js";
import { checkKinds } from "./kinds.js";
import { Run, type RunReport } from "./run.js";
import {
  addBurst,
  addRun,
  describeHeld,
  emptyTotals,
  type Order,
  summaryOfBursts,
  summaryOfRuns,
  type Totals,
} from "./totals.js";
import { FINDS } from "./variants.js";
import { wayOf } from "./way.js";

/** All runs and bursts of one way to make checkpoints. */

const PROGRESS = 50;
/** Of a cell, in the account of a failed run. */
const MOST_CHARACTERS = 2_000;

export type Message = { readonly line: string } | { readonly totals: Totals };

const order = JSON.parse(process.argv[2] ?? "{}") as Order;
const ground = new Ground(order.root, order.way, order.variant);
const totals = emptyTotals();
let isStopping = false;
process.on("SIGTERM", () => {
  isStopping = true;
});

const way = await wayOf(ground);
if (way !== order.way) {
  say(`${order.way}: this machine makes checkpoints by ${way}`);
  // It can be without the means to track writes, but not use them when it is told to fork.
  if (order.way === "forks") totals.failed += 1;
}
if (order.isKinds) {
  for (const line of await checkKinds(ground)) {
    totals.failed += 1;
    say(`  kind ${line}`);
  }
}
await inLanes(order.runs, async (seed) => {
  const report = await new Run(ground, seed).run();
  addRun(totals, report);
  if (isFailedRun(report) || (order.runs === 1 && order.bursts === 0)) say(describeRun(report));
  if (totals.runs % PROGRESS === 0) say(`${order.way}: ${summaryOfRuns(totals)}`);
});
if (totals.runs > 0) say(`${order.way}: ${describeHeld(totals)}`);
await inLanes(order.bursts, async (seed) => {
  const report = await new Burst(ground, seed).run();
  addBurst(totals, report);
  if (isFailedBurst(report) || (order.bursts === 1 && order.runs === 0)) say(describeBurst(report));
  if (totals.bursts % PROGRESS === 0) say(`${order.way}: ${summaryOfBursts(totals)}`);
});
await shutdown();
send({ totals });
process.disconnect?.();

async function inLanes(count: number, work: (seed: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count && !isStopping) {
      const seed = order.seed + next;
      next += 1;
      await work(seed);
      // A variant is found out once.
      if (order.variant !== undefined && totals[FINDS[order.variant]] > 0) isStopping = true;
    }
  };
  await Promise.all(Array.from({ length: order.lanes }, lane));
}

function isFailedRun({ differences, failures }: RunReport): boolean {
  return differences.length + failures.length > 0;
}

function isFailedBurst({ untrue, tooMuch, failures }: BurstReport): boolean {
  return untrue.length + tooMuch.length + failures.length > 0;
}

function describeRun(report: RunReport): string {
  const { seed, differences, failures, trail } = report;
  return [
    heading("run", isFailedRun(report), `--seed ${seed} --runs 1 --bursts 0`),
    ...differences.map((line) => `  different: ${line}`),
    ...failures.map((line) => `  failed: ${line}`),
    ...trail.map(indented),
  ].join("\n");
}

function describeBurst(report: BurstReport): string {
  const { seed, untrue, tooMuch, failures, trail } = report;
  return [
    heading("burst", isFailedBurst(report), `--seed ${seed} --runs 0 --bursts 1`),
    ...untrue.map((line) => `  untrue: ${line}`),
    ...tooMuch.map((line) => `  too much: ${line}`),
    ...failures.map((line) => `  failed: ${line}`),
    ...trail.map(indented),
  ].join("\n");
}

function heading(what: string, isFailed: boolean, options: string): string {
  const variant = order.variant === undefined ? "" : ` --variant ${order.variant}`;
  const again = `npm run checkpoints -- --way ${order.way} ${options}${variant}`;
  return `${isFailed ? `${what} failed` : what}; again with: ${again}`;
}

function indented(line: string): string {
  return `    ${line.slice(0, MOST_CHARACTERS).replaceAll("\n", "\n        ")}`;
}

function say(line: string): void {
  send({ line });
}

function send(message: Message): void {
  process.send?.(message);
}
