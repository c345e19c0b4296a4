#!/usr/bin/env node
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./setup/build.mjs";
import { checkNode, installNodeModules } from "./setup/node-modules.mjs";
import { preparePython } from "./setup/python-environment.mjs";
import { createReport } from "./setup/report.mjs";
import { lockCheckout, openState } from "./setup/state.mjs";
import { installSystemPackages } from "./setup/system-packages.mjs";

const HELP = `Usage: npm run setup [-- OPTIONS]

Prepares this checkout: npm packages, bubblewrap and ripgrep, .venv, build.
A step that fails is reported with its remedy. The exit code is 1 only if the
npm packages or the build fail.

Options:
  --quiet   print only problems
  --retry   repeat steps that failed within the last day
  --help    print this text`;

const FLAGS = new Set(["--quiet", "--retry", "--help"]);
const STEPS = [
  { name: "node", run: checkNode },
  { name: "npm packages", run: installNodeModules, essential: true },
  { name: "system packages", run: installSystemPackages },
  { name: "python", run: preparePython },
  { name: "build", run: build, essential: true },
];

async function main(args) {
  const unknown = args.find((arg) => !FLAGS.has(arg));
  if (unknown !== undefined) {
    console.error(`unknown option ${unknown}\n\n${HELP}`);
    return 2;
  }
  if (args.includes("--help")) {
    console.log(HELP);
    return 0;
  }
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const report = createReport({ quiet: args.includes("--quiet") });
  const unlock = await lockCheckout(root, report);
  try {
    const state = openState(root);
    const context = { root, report, state, retry: args.includes("--retry") };
    for (const step of STEPS) await take(step, context);
  } finally {
    unlock();
  }
  return report.failed ? 1 : 0;
}

async function take({ name, run, essential = false }, context) {
  try {
    await run(context);
    context.state.save();
  } catch (error) {
    const remedy = "make this folder writable, or run setup as its owner";
    if (essential) context.report.fatal(name, error.message, remedy);
    else context.report.missing(name, error.message, remedy);
  }
}

process.exitCode = await main(process.argv.slice(2));
