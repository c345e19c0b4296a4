#!/usr/bin/env node
import { parseArgs } from "node:util";
import { shutdown } from "../dist/index.js";
import { BENCHMARKS } from "./catalogue.mjs";
import { openRuntime } from "./cellar.mjs";
import { describeEnd, describeMachine, describeZygote } from "./machine.mjs";
import { processorTime } from "./processor-time.mjs";
import { Report } from "./report.mjs";
import { Scope } from "./scope.mjs";
import { Unavailable } from "./unavailable.mjs";

const USAGE_ERROR = 2;

function readArguments() {
  const { values } = parseArgs({
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
    },
  });
  const only = values.only.flatMap((names) => names.split(",")).filter((name) => name !== "");
  const unknown = only.filter((name) => !BENCHMARKS.some(({ key }) => key === name));
  if (unknown.length > 0) {
    throw new TypeError(`unknown benchmark: ${unknown.join(", ")}`);
  }
  return { ...values, only };
}

async function measure({ quick, only }) {
  const report = new Report(BENCHMARKS, describeMachine());
  const runtime = openRuntime();
  const bench = {
    runtime,
    count: (full, few) => (quick ? few : full),
    observe: (zygote) => Object.assign(report.machine, describeZygote(zygote)),
  };
  let failures = 0;
  for (const benchmark of BENCHMARKS) {
    if (only.length > 0 && !only.includes(benchmark.key)) {
      report.skip(benchmark, "excluded by --only");
      continue;
    }
    progress(benchmark.key);
    const scope = new Scope();
    const account = ({ pid }) => {
      const time = scope.use(processorTime(pid));
      report.machine.processor_time = time.name;
      return time;
    };
    try {
      report.add(benchmark, await benchmark.run({ ...bench, account, use: scope.use }));
    } catch (error) {
      report.skip(benchmark, error.message);
      if (!isUnavailable(error)) failures += 1;
    } finally {
      await scope.close();
    }
  }
  await Promise.all([runtime[Symbol.asyncDispose](), shutdown()]);
  Object.assign(report.machine, describeEnd());
  return { report, failures };
}

function isUnavailable(error) {
  return error instanceof Unavailable || error.code === "SANDBOX_UNAVAILABLE";
}

function progress(key) {
  if (process.stderr.isTTY) process.stderr.write(`measuring ${key}\n`);
}

/** In the same form as cellar's commands. */
function refuse(message, isJson) {
  const remedy = `Choose from: ${BENCHMARKS.map(({ key }) => key).join(", ")}.`;
  const error = { code: "INVALID_INPUT", message, remedy };
  if (isJson) process.stdout.write(`${JSON.stringify({ error }, null, 2)}\n`);
  else process.stderr.write(`bench: ${message}\n  fix: ${remedy}\n`);
}

async function main() {
  let options;
  try {
    options = readArguments();
  } catch (error) {
    refuse(error.message, process.argv.includes("--json"));
    return USAGE_ERROR;
  }
  // Sessions do not keep the process alive.
  const hold = setInterval(() => {}, 2 ** 30);
  const { report, failures } = await measure(options);
  clearInterval(hold);
  process.stdout.write(`${options.json ? JSON.stringify(report, null, 2) : report.toText()}\n`);
  return failures > 0 ? 1 : 0;
}

process.exitCode = await main();
