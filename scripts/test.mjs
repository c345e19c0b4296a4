#!/usr/bin/env node
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPython, insideEnvironment, probePython } from "./setup/python-interpreter.mjs";
import { createReport } from "./setup/report.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NOTHING = { passed: 0, failed: 0, skipped: [] };
const FAILURE = { ...NOTHING, failed: 1 };

async function main(filters) {
  // A filter selects some tests; the other tools say nothing about them.
  const suites = filters.length > 0 ? [] : [lint, typecheck, pythonTests];
  const total = { passed: 0, failed: 0, skipped: [] };
  for (const suite of [...suites, () => vitest(filters)]) {
    const counts = await suite();
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped.push(...counts.skipped);
  }
  return summarise(total);
}

function lint() {
  return oneCheck("biome check", [modulePath("@biomejs", "biome", "bin", "biome"), "check", "."]);
}

function typecheck() {
  const compiler = modulePath("typescript", "bin", "tsc");
  return oneCheck("typecheck", [compiler, "-p", join(root, "tsconfig.test.json")]);
}

async function pythonTests() {
  heading("python unittest");
  const python =
    (await probePython(insideEnvironment(join(root, ".venv")))) ??
    (await findPython({ report: createReport({ quiet: true }) }));
  if (python === undefined) {
    return { ...NOTHING, skipped: [{ name: "python unittest", reason: "no Python was found" }] };
  }
  const { code, stdout } = await start(python.path, [join(root, "python", "tests")], {
    capture: true,
  });
  const lines = stdout.trimEnd().split("\n");
  const counts = parseCounts(lines.pop());
  if (lines.length > 0) console.log(lines.join("\n"));
  return withExitCode(counts, code);
}

async function vitest(filters) {
  heading("vitest");
  const folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  const file = join(folder, "counts.json");
  try {
    const reporter = join(root, "scripts", "test", "counts-reporter.mjs");
    const args = ["run", "--reporter=default", `--reporter=${reporter}`, ...filters];
    const { code } = await start(process.execPath, [modulePath("vitest", "vitest.mjs"), ...args], {
      env: { CELLAR_TEST_COUNTS: file },
    });
    return withExitCode(
      existsSync(file) ? parseCounts(readFileSync(file, "utf8")) : undefined,
      code,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function oneCheck(name, args) {
  heading(name);
  const { code } = await start(process.execPath, args);
  return code === 0 ? { ...NOTHING, passed: 1 } : FAILURE;
}

function summarise({ passed, failed, skipped }) {
  const unexplained = skipped.filter(({ reason }) => reason.trim() === "");
  const explained = skipped.filter(({ reason }) => reason.trim() !== "");
  const failures = failed + unexplained.length;
  heading("summary");
  for (const { name, reason } of explained) console.log(`skipped: ${name}: ${reason}`);
  for (const { name } of unexplained) console.log(`failed: ${name}: skipped without a reason`);
  const tail = explained.length > 0 ? `, ${explained.length} skipped` : "";
  console.log(`${passed} passed, ${failures} failed${tail}`);
  return failures > 0 ? 1 : 0;
}

function start(file, args, { env = {}, capture = false } = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", capture ? "pipe" : "inherit", "inherit"],
    });
    let stdout = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.on("error", (error) => {
      console.log(error.message);
      resolve({ code: 1, stdout });
    });
    child.on("close", (code) => resolve({ code: code ?? 1, stdout }));
  });
}

function parseCounts(text = "") {
  try {
    const { passed, failed, skipped } = JSON.parse(text);
    return { passed, failed, skipped };
  } catch {
    return undefined;
  }
}

/** A tool that fails or ends without counts is a failure, whatever it counted before. */
function withExitCode(counts, code) {
  if (counts === undefined) return FAILURE;
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

function heading(name) {
  console.log(`\n── ${name}`);
}

function modulePath(...parts) {
  return join(root, "node_modules", ...parts);
}

process.exitCode = await main(process.argv.slice(2));
