#!/usr/bin/env node
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { HELP, parseTrialArguments } from "./trial/arguments.mjs";
import { allMachines } from "./trial/machines.mjs";
import { summaryLines } from "./trial/summary.mjs";
import { Trial } from "./trial/trial.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function main(argv) {
  const options = parseTrialArguments(argv);
  const problem = options.problem ?? unknownMachine(options);
  if (problem !== undefined) {
    console.error(`trial: ${problem}\nfix: npm run trial -- --help`);
    return 2;
  }
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  if (options.list) {
    for (const { name, what } of allMachines(options)) console.log(`${name.padEnd(16)} ${what}`);
    return 0;
  }
  const machines = allMachines(options).filter(
    ({ name, isShort }) => (options.only?.includes(name) ?? true) && (!options.short || isShort),
  );
  const trial = new Trial(root, options);
  const stop = (code) => () => {
    trial.end();
    process.exit(code);
  };
  process.once("SIGINT", stop(130));
  process.once("SIGTERM", stop(143));
  try {
    const outcome = await trial.run(machines);
    const { results, measures } = outcome;
    if (options.json !== undefined)
      writeFileSync(options.json, `${JSON.stringify(outcome, null, 2)}\n`);
    const names = [...new Set(results.map(({ machine }) => machine))];
    console.log(`\n${summaryLines({ results, measures, names }).join("\n")}`);
    return results.some(({ status }) => status === "failed") ? 1 : 0;
  } finally {
    trial.end();
  }
}

function unknownMachine({ only = [], ...options }) {
  const names = allMachines({ python: options.python ?? [] }).map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length === 0) return undefined;
  return `--only ${unknown.join(",")}: there are ${names.join(", ")}`;
}

process.exitCode = await main(process.argv.slice(2));
