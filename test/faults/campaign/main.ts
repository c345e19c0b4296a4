import { parseArgs } from "node:util";
import { runCampaign, summaryOf } from "./campaign.js";
import { FAULT_KINDS, type FaultKind } from "./faults.js";
import { runStorm } from "./storm.js";
import { VARIANTS, type Variant } from "./variants.js";

const USAGE = `npm run faults -- [--rounds 200] [--seed N] [--parallel 4] [--only ${FAULT_KINDS.join("|")}]
npm run faults -- --variant ${VARIANTS.join("|")}     a store that is wrong on purpose; must lose something
npm run faults -- --storm [--operations 2000] [--seed N]`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string" },
    seed: { type: "string" },
    parallel: { type: "string", default: "4" },
    only: { type: "string", multiple: true, default: [] },
    variant: { type: "string" },
    storm: { type: "boolean", default: false },
    operations: { type: "string", default: "2000" },
    help: { type: "boolean", default: false },
    /** From scripts/faults.mjs. */
    programs: { type: "string", default: "" },
    root: { type: "string", default: "" },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const only = values.only.flatMap((names) => names.split(","));
  const wrong = only.find((name) => !(FAULT_KINDS as readonly string[]).includes(name));
  const isVariant = (VARIANTS as readonly string[]).includes(values.variant ?? "");
  if (values.help || wrong !== undefined || (values.variant !== undefined && !isVariant)) {
    console.log(USAGE);
    return values.help ? 0 : 2;
  }
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
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
    rounds: Number(values.rounds ?? 200),
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

function say(line: string): void {
  console.log(line);
}
