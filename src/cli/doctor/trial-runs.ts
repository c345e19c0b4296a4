import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AgentRepl } from "../../agent/agent-repl.js";
import type { REPLConfig, SandboxInfo } from "../../backends/backend.js";
import { createSandbox } from "../../backends/create-sandbox.js";
import type { CheckpointMethod } from "../../backends/session/branch.js";
import { sharedRuntime } from "../../backends/shared.js";
import { unlessAborted } from "../../concurrency/abort.js";
import { keepingAlive } from "../../concurrency/keep-alive.js";
import { CellarError } from "../../errors.js";
import { nearest } from "../../isolation/temporary-trouble.js";
import { Notebook } from "../../notebook/notebook.js";
import { describeFailure } from "../terminal/report-error.js";
import { AGAIN, fail, type HealthCheck, ok } from "./health-check.js";

const CODE = "6 * 7";
const ANSWER = "42";
/** Enough for the first start on a slow disk. */
const PATIENCE_MS = 90_000;
/** One cell runs, so preparing more would be wasted. */
const QUICK = { preload: "none", poolSize: 0 } as const;

export interface Trial<T> {
  /** Undefined where it failed. */
  readonly value?: T;
  readonly check: HealthCheck;
}

export function tryCell(config: REPLConfig): Promise<Trial<SandboxInfo>> {
  const place = { native: "", daemon: " through the daemon that runs", pyodide: " on Pyodide" };
  return trial("cell", runCell(config), ({ backend, python, isolation }) =>
    [
      `${CODE} is ${ANSWER}${place[backend]}`,
      `Python ${python.version}`,
      `isolation ${isolation.level}`,
    ].join(", "),
  );
}

/** A crash that is taken back; undefined where sessions have no checkpoints. */
export function tryCheckpoint(config: REPLConfig): Promise<Trial<CheckpointMethod>> {
  return trial(
    "checkpoints",
    runCrash({ ...config, ...QUICK, backend: "native", checkpoints: "always" }),
    ({ method, reason }) =>
      method === "pages"
        ? "a crash was taken back; a checkpoint is the memory that a cell wrote"
        : `a crash was taken back; a checkpoint is a copy of the process (${reason ?? "unknown"})`,
  );
}

export function tryAgent(config: REPLConfig): Promise<Trial<void>> {
  const detail = `a turn of an agent found ${ANSWER} in its context`;
  return trial("agent", runTurn({ ...config, ...QUICK }), () => detail);
}

/** A cell of a temporary notebook, on the disk where notebooks are kept. */
export function tryNotebook(config: REPLConfig, folder: string): Promise<Trial<void>> {
  const detail = `a cell ran and was saved: ${CODE} is ${ANSWER}`;
  return trial("notebook", runNotebook({ ...config, ...QUICK }, nearest(folder)), () => detail);
}

async function trial<T>(
  name: string,
  work: Promise<T>,
  detail: (value: T) => string,
): Promise<Trial<T>> {
  try {
    const value = await keepingAlive(unlessAborted(work, AbortSignal.timeout(PATIENCE_MS), late));
    return { value, check: ok(name, detail(value)) };
  } catch (error) {
    const { message, remedy } = describeFailure(error);
    return { check: fail(name, message, remedy ?? AGAIN) };
  }
}

function late(): CellarError {
  const message = `it took longer than ${PATIENCE_MS / 1000} s`;
  const remedy = "Try again when the machine is less busy.";
  return new CellarError("START_FAILED", message, { remedy });
}

async function runCell(config: REPLConfig): Promise<SandboxInfo> {
  await using sandbox = await createSandbox(config);
  const { status, result, error } = await sandbox.execute(CODE);
  expectAnswer(result?.["text/plain"] ?? error?.message ?? status);
  return sandbox.info;
}

async function runCrash(config: REPLConfig): Promise<CheckpointMethod> {
  const runtime = await sharedRuntime();
  await using sandbox = await runtime.createSandbox(config);
  await sandbox.execute(`answer = ${ANSWER}`);
  const crash = await sandbox.execute("import os; os.abort()");
  const { result, error } = await sandbox.execute("answer");
  expectAnswer(result?.["text/plain"] ?? error?.message ?? crash.status);
  return await sandbox.checkpointMethod();
}

async function runTurn(config: REPLConfig): Promise<void> {
  await using agent = await AgentRepl.open({ config, context: `The answer is ${ANSWER}.` });
  const { observation } = await agent.turn("print(context[14:16])");
  expectAnswer(observation);
}

async function runNotebook(config: REPLConfig, place: string): Promise<void> {
  const { backend: _, ...own } = config;
  const dir = mkdtempSync(join(place, ".cellar-doctor-"));
  try {
    await using notebook = await Notebook.open({ ...own, dir, user: "doctor", session: "trial" });
    const cell = await notebook.run(CODE);
    const shown = cell.outputs.map((output) => ("text" in output ? String(output.text) : ""));
    expectAnswer(shown.join("\n") || cell.state);
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

function expectAnswer(text: string): void {
  if (text.includes(ANSWER)) return;
  throw new CellarError("START_FAILED", `it gave ${JSON.stringify(text.slice(0, 500))}`);
}
