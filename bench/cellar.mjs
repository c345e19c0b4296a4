import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveSettings } from "../dist/config.js";
import { AgentRepl, createSandbox, NativeRuntime, Notebook } from "../dist/index.js";

/** Measure at any isolation level; the report names it. */
const AS_FOUND = { minIsolation: "L0" };

export function openRuntime() {
  return new NativeRuntime();
}

/** Starts the zygote for this config, fills its pool, and describes it. */
export async function warm(runtime, config) {
  return (await runtime.zygotes(resolveSettings({ ...AS_FOUND, ...config }))).warm();
}

export function open(runtime, config) {
  return runtime.createSandbox({ ...AS_FOUND, ...config });
}

/** A session in a session directory, which may hold a state to restore. */
export function openIn(runtime, config, sessionDir) {
  return runtime.createSandbox({ ...AS_FOUND, ...config }, undefined, sessionDir);
}

export function openNotebook(runtime, options) {
  return Notebook.open({ ...AS_FOUND, user: "bench", runtime, ...options });
}

/** An agent's REPL in the shared runtime, with a temporary folder for long outputs. */
export async function openAgent({ config, ...options }) {
  const spillDir = mkdtempSync(join(tmpdir(), "cellar-bench-"));
  const repl = await AgentRepl.open({
    spillDir,
    ...options,
    config: { backend: "native", ...AS_FOUND, ...config },
  });
  return {
    turn: (code) => repl.turn(code),
    putFile: (path, content) => repl.putFile(path, content),
    async [Symbol.asyncDispose]() {
      await repl.close();
      rmSync(spillDir, { recursive: true, force: true });
    },
  };
}

/** A sandbox of the shared runtime. */
export function openShared(config) {
  return createSandbox({ backend: "native", ...AS_FOUND, ...config });
}

/** Runs a cell that must succeed: a failed one would be measured as fast. */
export async function run(sandbox, code, expected) {
  const execution = await sandbox.execute(code);
  if (execution.status !== "ok") {
    throw new Error(`a cell ended with ${execution.status}: ${execution.error?.traceback}`);
  }
  if (expected !== undefined && execution.stdout !== expected) {
    throw new Error(`a cell printed ${JSON.stringify(execution.stdout)}`);
  }
  return execution;
}

export const TRIVIAL = "print(1+1)";
export const TRIVIAL_OUTPUT = "2\n";

export function runTrivial(sandbox) {
  return run(sandbox, TRIVIAL, TRIVIAL_OUTPUT);
}
