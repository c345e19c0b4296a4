import { parseArgs } from "node:util";
import { runCampaign, summaryOf } from "./campaign.js";
import { FAULT_KINDS, type FaultKind } from "./faults.js";
import { runStorm } from "./storm.js";
import { VARIANTS, type Variant } from "./variants.js";

const USAGE = `npm run faults -- [--rounds 200] [--seed N] [--parallel 4] [--only ${FAULT_KINDS.join("|")}]
npm run faults -- --variant ${VARIANTS.join("|")}     a store that is wrong on purpose; must lose something
npm run faults -- --storm [--operations 2000] [--seed N]`;

const OPTIONS = {
  rounds: { type: "string", default: "200" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  parallel: { type: "string", default: "4" },
  only: { type: "string", multiple: true, default: [] as string[] },
  variant: { type: "string" },
  storm: { type: "boolean", default: false },
  operations: { type: "string", default: "2000" },
  help: { type: "boolean", default: false },
  /** From scripts/faults.mjs. */
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
  const { only } = values;
  const seed = Number(values.seed);
  if (values.storm) {
    const operations = Number(values.operations);
    return await runStorm({ operations, seed, programs: values.programs, say });
  }
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());
  const variant = values.variant as Variant | undefined;
  say(`seed ${seed}`);
  const report = await runCampaign({
    programs: values.programs,
    root: values.root,
    rounds: Number(values.rounds),
    seed,
    parallel: Number(values.parallel),
    only: only as FaultKind[],
    variant,
    stopsAtLoss: variant !== undefined,
    signal: stopping.signal,
    say,
  });
  say(summaryOf(report));
  if (variant !== undefined) {
    say(report.lost > 0 ? `${variant} was found out` : `${variant} was NOT found out`);
    return report.lost > 0 ? 0 : 1;
  }
  return report.lost + report.untrue + report.leftBehind > 0 ? 1 : 0;
}

/** What was asked for; fails where it is nothing that could find something out. */
function read() {
  const { values } = parseArgs({ options: OPTIONS });
  for (const name of ["rounds", "parallel", "operations"] as const) {
    if (!/^[1-9]\d{0,8}$/.test(values[name])) {
      throw new Error(`--${name} must be a whole number from 1 on, not ${values[name]}`);
    }
  }
  if (!/^\d{1,15}$/.test(values.seed)) {
    throw new Error(`--seed must be a whole number, not ${values.seed}`);
  }
  const only = values.only.flatMap((names) => names.split(","));
  const wrong = only.find((name) => !(FAULT_KINDS as readonly string[]).includes(name));
  if (wrong !== undefined) throw new Error(`--only knows no faults called ${wrong}`);
  if (values.variant !== undefined && !(VARIANTS as readonly string[]).includes(values.variant)) {
    throw new Error(`--variant knows no store called ${values.variant}`);
  }
  return { ...values, only };
}

function say(line: string): void {
  console.log(line);
}
