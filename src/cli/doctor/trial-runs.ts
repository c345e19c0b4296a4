import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AgentRepl } from "../../agent/agent-repl.js";
import type { REPLConfig, SandboxInfo } from "../../backends/backend.js";
import { createSandbox } from "../../backends/select.js";
import { CellarError } from "../../errors.js";
import { nearest } from "../../isolation/temporary-trouble.js";
import { Notebook } from "../../notebook/notebook.js";
import { describeFailure } from "../terminal/report-error.js";
import { AGAIN, type Attempt, attempt, fail, type HealthCheck, ok } from "./health-check.js";

const CODE = "6 * 7";
const ANSWER = "42";
/** Enough for the first start on a slow disk. */
const PATIENCE_MS = 90_000;
/** One cell runs, so preparing more would be wasted. */
const QUICK = { preload: "none", poolSize: 0 } as const;

export interface Trial<T> {
  readonly outcome: Attempt<T>;
  readonly check: HealthCheck;
}

export async function tryCell(config: REPLConfig): Promise<Trial<SandboxInfo>> {
  const outcome = await attempt(within(runCell(config)));
  if ("error" in outcome) return { outcome, check: failed("cell", outcome.error) };
  const { backend, python, isolation } = outcome.value;
  const place = { native: "", daemon: " through the daemon that runs", pyodide: " on Pyodide" };
  const detail = `${CODE} is ${ANSWER}${place[backend]}, Python ${python.version}, isolation ${isolation.level}`;
  return { outcome, check: ok("cell", detail) };
}

export async function tryAgent(config: REPLConfig): Promise<Trial<void>> {
  const outcome = await attempt(within(runTurn({ ...config, ...QUICK })));
  const detail = `a turn of an agent found ${ANSWER} in its context`;
  return { outcome, check: verdict("agent", detail, outcome) };
}

/** A cell of a temporary notebook, on the disk where notebooks are kept. */
export async function tryNotebook(config: REPLConfig, folder: string): Promise<Trial<void>> {
  const outcome = await attempt(within(runNotebook({ ...config, ...QUICK }, nearest(folder))));
  const detail = `a cell ran and was saved: ${CODE} is ${ANSWER}`;
  return { outcome, check: verdict("notebook", detail, outcome) };
}

async function runCell(config: REPLConfig): Promise<SandboxInfo> {
  await using sandbox = await createSandbox(config);
  const { status, result, error } = await sandbox.execute(CODE);
  expectAnswer(result?.["text/plain"] ?? error?.message ?? status);
  return sandbox.info;
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

function verdict(name: string, detail: string, outcome: Attempt<unknown>): HealthCheck {
  return "error" in outcome ? failed(name, outcome.error) : ok(name, detail);
}

function failed(name: string, error: unknown): HealthCheck {
  const { message, remedy } = describeFailure(error);
  return fail(name, message, remedy ?? AGAIN);
}

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `it took longer than ${PATIENCE_MS / 1000} s`;
    const remedy = "Try again when the machine is less busy.";
    timer = setTimeout(
      () => reject(new CellarError("START_FAILED", message, { remedy })),
      PATIENCE_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
