#!/usr/bin/env node
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runPrograms } from "./programs.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, "test", "checkpoints", "program");

const trial = {
  name: "checkpoints",
  entryPoints: ["main", "worker"].map((name) => join(sources, `${name}.ts`)),
};
process.exitCode = await runPrograms(root, trial, (folder) => [
  "--programs",
  folder,
  "--root",
  root,
  ...process.argv.slice(2),
]);
