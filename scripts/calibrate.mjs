#!/usr/bin/env node
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runPrograms } from "./programs.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entryPoints = [join(root, "test", "calibration", "tool", "main.ts")];
process.exitCode = await runPrograms(root, { name: "calibrate", entryPoints }, () =>
  process.argv.slice(2),
);
