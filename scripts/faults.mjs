#!/usr/bin/env node
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runPrograms } from "./programs.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, "test", "faults", "campaign");
const PROGRAMS = ["main", "holder-program", "storm-program"];

const campaign = {
  name: "faults",
  entryPoints: PROGRAMS.map((name) => join(sources, `${name}.ts`)),
};
process.exitCode = await runPrograms(root, campaign, (folder) => [
  "--programs",
  folder,
  "--root",
  root,
  ...process.argv.slice(2),
]);
