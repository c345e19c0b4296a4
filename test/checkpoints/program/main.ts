import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  addTotals,
  describeExcess,
  emptyTotals,
  type Order,
  summaryOfBursts,
  summaryOfRuns,
  type Totals,
  WAYS,
  type Way,
} from "./totals.js";
import { FINDS, isOfBursts, VARIANTS, type Variant } from "./variants.js";
import type { Message } from "./worker.js";

const USAGE = `npm run checkpoints -- [--runs 500] [--bursts 500] [--seed N] [--way ${WAYS.join("|")}|both] [--parallel 2]
npm run checkpoints -- --variant ${VARIANTS.join("|")}     wrong on purpose; must be found out`;

const OPTIONS = {
  runs: { type: "string", default: "500" },
  bursts: { type: "string", default: "500" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  way: { type: "string", default: "both" },
  parallel: { type: "string", default: "2" },
  variant: { type: "string" },
  help: { type: "boolean", default: false },
  /** From scripts/checkpoints.mjs. */
  programs: { type: "string", default: "" },
  root: { type: "string", default: "" },
} as const;

process.exitCode = await main();

async function main(): Promise<number> {
  let values: ReturnType<typeof read>;
  try {
    values = read();
  } catch (error) {
    console.log(`${(error as Error).message}\n${USAGE}`);
    return 2;
  }
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const { variant, ways, runs, bursts, seed } = values;
  console.log(`seed ${seed}`);
  const share = (count: number) => Math.ceil(count / ways.length);
  const lanes = Math.max(1, Math.floor(values.parallel / ways.length));
  const totals = emptyTotals();
  const isWhole = await Promise.all(
    ways.map((way) => {
      const isKinds = way === ways[0] && runs > 0 && variant === undefined;
      const order = {
        isKinds,
        way,
        runs: share(runs),
        bursts: share(bursts),
        seed,
        lanes,
        variant,
      };
      return work({ ...order, root: values.root }, values.programs, totals);
    }),
  );
  if (totals.bursts > 0) {
    if (totals.lostCells > 0) console.log(describeExcess(totals));
    console.log(summaryOfBursts(totals));
  }
  if (totals.runs > 0) console.log(summaryOfRuns(totals));
  if (!isWhole.every((isDone) => isDone)) return 1;
  const { different, untrue, tooMuch, failed, failedBursts } = totals;
  if (variant !== undefined) {
    const isFound = totals[FINDS[variant]] > 0;
    console.log(isFound ? `${variant} was found out` : `${variant} was NOT found out`);
    return isFound ? 0 : 1;
  }
  return different + untrue + tooMuch + failed + failedBursts > 0 ? 1 : 0;
}

/** One process for each way; whether it came to its end. */
async function work(order: Order, programs: string, totals: Totals): Promise<boolean> {
  const child = fork(join(programs, "worker.mjs"), [JSON.stringify(order)]);
  const stop = () => child.kill("SIGTERM");
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, stop);
  let isDone = false;
  child.on("message", (message: Message) => {
    if ("line" in message) console.log(message.line);
    else {
      isDone = true;
      addTotals(totals, message.totals);
    }
  });
  const [code] = await once(child, "exit");
  for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, stop);
  if (!isDone) console.log(`${order.way}: the process ended with ${code} before its last run`);
  return isDone && code === 0;
}

/** What was asked for; fails where it is nothing that could find something out. */
function read() {
  const { values } = parseArgs({ options: OPTIONS });
  for (const name of ["runs", "bursts", "parallel", "seed"] as const) {
    if (!/^\d{1,9}$/.test(values[name])) {
      throw new Error(`--${name} must be a whole number, not ${values[name]}`);
    }
  }
  const variant = VARIANTS.find((name) => name === values.variant);
  if (variant !== values.variant) throw new Error(`--variant knows no ${values.variant}`);
  const ways: readonly Way[] =
    values.way === "both" ? WAYS : WAYS.filter((one) => one === values.way);
  if (ways.length === 0) throw new Error(`--way knows no ${values.way}`);
  const runs = variant !== undefined && isOfBursts(variant) ? 0 : Number(values.runs);
  const bursts = variant !== undefined && !isOfBursts(variant) ? 0 : Number(values.bursts);
  if (runs + bursts === 0) throw new Error("nothing to do: --runs and --bursts are 0");
  const [seed, parallel] = [Number(values.seed), Math.max(1, Number(values.parallel))];
  return { ...values, variant: variant as Variant | undefined, ways, runs, bursts, seed, parallel };
}
