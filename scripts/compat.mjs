#!/usr/bin/env node
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runPrograms } from "./programs.mjs";
import { build } from "./setup/build.mjs";
import { createReport } from "./setup/report.mjs";
import { openState } from "./setup/state.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const comparison = {
  name: "compat",
  entryPoints: [join(root, "test", "compat", "tool", "main.ts")],
};

async function main(args) {
  // Only the build: this fetches nothing.
  const report = createReport({ quiet: true });
  const state = openState(root);
  await build({ root, report, state });
  state.save();
  if (report.failed) return 1;
  return runPrograms(root, comparison, () => ["--root", root, ...args]);
}

process.exitCode = await main(process.argv.slice(2));
