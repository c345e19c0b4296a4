import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { NOT_IN_ONE_THREAD } from "../../../test/support/pyodide-skips.js";
import type { REPLConfig } from "../backend.js";
import { describeConformance } from "../conformance.case.test.js";
import { theEngine } from "./inside/engine.js";
import { PyodideRuntime } from "./runtime.js";
import { DirectPyodideSandbox } from "./sandbox.js";

const cache = mkdtempSync(join(tmpdir(), "cellar-pyodide-test-"));
const runtime = new PyodideRuntime({ cache });

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(cache, { recursive: true, force: true, maxRetries: 10 });
});

describeConformance({
  name: "pyodide in the caller's thread",
  create: (config) => runtime.createSandbox({ useWorker: false, minIsolation: "L0", ...config }),
  unavailable: () => undefined,
  waitsByAwait: true,
  skip: NOT_IN_ONE_THREAD,
});

describe("pyodide in the caller's thread", () => {
  const create = (config: REPLConfig = {}) =>
    runtime.createSandbox({ useWorker: false, minIsolation: "L0", ...config });

  it("needs to be allowed, and says what it is", async () => {
    await expect(runtime.createSandbox({ useWorker: false })).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      details: { level: "L0", option: "minIsolation" },
    });
    await using sandbox = await create();
    expect(sandbox).toBeInstanceOf(DirectPyodideSandbox);
    expect(sandbox.info).toMatchObject({ mode: "direct", isolation: { level: "L0" } });
  });

  it("ends at its time limit also while it sleeps or waits", async () => {
    await using sandbox = await create({ timeout: 300 });
    await sandbox.execute("kept = 1");
    for (const code of [
      "while True: pass",
      "import time\ntime.sleep(60)",
      "import asyncio\nawait asyncio.sleep(60)",
    ]) {
      const run = await sandbox.execute(code);
      expect([code, run.status, run.state.survived]).toEqual([code, "timeout", true]);
    }
    expect((await sandbox.execute("kept")).result).toEqual({ "text/plain": "1" });
  });

  it("is given up when it swallows its interrupt, and begins anew", async () => {
    await using sandbox = await create({ timeout: 1_000, grace: 200 });
    const run = await sandbox.execute(
      "while True:\n  try:\n    while True: pass\n  except KeyboardInterrupt: pass",
    );
    expect(run).toMatchObject({ status: "timeout", state: { survived: false } });
    expect((await sandbox.execute("1")).status).toBe("ok");
  });

  it("can be opened by several at once, each with the memory that is its own", async () => {
    const { instantiate, Module } = theEngine();
    const runtimes = [1, 2, 3].map(() => new PyodideRuntime({ cache }));
    const open = (one: PyodideRuntime) =>
      one.createSandbox({ useWorker: false, minIsolation: "L0" });
    const sandboxes = await Promise.all(runtimes.map(open));
    const runs = await Promise.all(
      sandboxes.map((one, number) => one.execute(`import json\njson.dumps({"n": ${number}})`)),
    );
    expect(runs.map(({ result }) => result?.["text/plain"])).toEqual(
      [0, 1, 2].map((number) => `'{"n": ${number}}'`),
    );
    expect(theEngine()).toMatchObject({ instantiate, Module });
    await Promise.all(runtimes.map((one) => one[Symbol.asyncDispose]()));
  });

  it("waits for the functions of an agent, tells what they did, and puts their names back", async () => {
    const agent = {
      maxGrepResults: 5,
      requireExplorationBeforeFinal: false,
      minExplorationCalls: 0,
    };
    const onLLMQuery = async (prompt: string) => prompt.toUpperCase();
    await using sandbox = await create({ agent, onLLMQuery, policy: "ast", sanitise: true });
    await sandbox.initialize("a white whale");
    const taken = await sandbox.execute(
      "context = grep = llm_query = llm_call('a')\nlen(llm_query)",
    );
    expect(taken.result).toMatchObject({ "text/plain": "1" });
    expect(taken.agent).toMatchObject({
      calls: [{ id: "L1", name: "llm_call", preview: "A" }],
      put_back: [
        { name: "context", kept: "my_context" },
        { name: "llm_query", kept: "my_llm_query" },
        { name: "grep", kept: "my_grep" },
      ],
    });
    const back = await sandbox.execute("[*llm_batch(['b', context]), len(grep(‘whale’))]");
    expect(back.result).toMatchObject({ "text/plain": "['B', 'A WHITE WHALE', 1]" });
    expect(back.replaced?.total).toBe(2);
    const ended = await sandbox.execute("FINAL(llm_query('c'))\nprint('not reached')");
    expect([ended.stdout, ended.agent?.final?.value]).toEqual(["", "C"]);
    const refused = await sandbox.execute("import subprocess\nllm_query('d')");
    expect(refused.error?.type).toContain("PolicyViolation");
  });

  it("leaves a running cell alone when cancelled", async () => {
    let begun = () => {};
    const beginning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    await using sandbox = await create({ onStdout: begun });
    const code = "import asyncio\nprint('begun')\nawait asyncio.sleep(0.3)\n'whole'";
    const running = sandbox.execute(code);
    await beginning;
    await sandbox.cancel();
    expect((await running).result).toEqual({ "text/plain": "'whole'" });
  });

  it("bounds output, and keeps the exit code of its host", async () => {
    await using sandbox = await create();
    const run = await sandbox.execute(
      "import os\nprint('first')\nfor _ in range(100): os.write(1, b'x' * 65536)\nprint('last')",
      { maxOutputLength: 1000 },
    );
    expect(run.stdout.length).toBeLessThan(1200);
    expect(run.stdout).toMatch(/^first\nx+[\s\S]*bytes omitted[\s\S]*x\n?last\n$/);
    const { exitCode } = process;
    expect((await sandbox.execute("os._exit(3)")).status).toBe("crashed");
    expect(process.exitCode).toBe(exitCode);
  });
});
