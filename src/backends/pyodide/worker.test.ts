import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { NOT_IN_WEBASSEMBLY } from "../../../test/support/pyodide-skips.js";
import type { CodeExecution } from "../backend.js";
import { describeConformance } from "../conformance.case.test.js";
import { PyodideRuntime } from "./runtime.js";

const cache = mkdtempSync(join(tmpdir(), "cellar-pyodide-test-"));
const runtime = new PyodideRuntime({ walls: false, cache });
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(cache, { recursive: true, force: true, maxRetries: 10 });
});

describeConformance({
  name: "pyodide without walls",
  create: (config) => runtime.createSandbox({ minIsolation: "L0", ...config }),
  unavailable: () => undefined,
  skip: NOT_IN_WEBASSEMBLY,
});

describe("pyodide without walls", () => {
  it("refuses unless minIsolation was lowered, naming cause, remedy and option", async () => {
    await expect(runtime.createSandbox()).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      message: expect.stringMatching(/bubblewrap.*below the minimum L3-/s),
      remedy: expect.stringMatching(/minIsolation/),
      details: { option: "minIsolation" },
    });
  });

  it("says what it is", async () => {
    await using sandbox = await runtime.createSandbox({ minIsolation: "L0" });
    expect(sandbox.info).toMatchObject({ backend: "pyodide", mode: "worker" });
    expect(sandbox.info.isolation.level).toMatch(/^L[01]$/);
    expect(sandbox.info.isolation.missing).toEqual(
      expect.arrayContaining(["seccomp", "outer-wall", "canary", "network"]),
    );
  });

  it("closes what leads to JavaScript here too, where no wall would hold it", async () => {
    await using sandbox = await runtime.createSandbox({ minIsolation: "L0" });
    for (const code of [
      "import js",
      "import pyodide_js",
      "from pyodide.code import run_js\nrun_js('1')",
      "from pyodide.ffi import to_js\nto_js([]).constructor.constructor('return process')()",
    ]) {
      expect([code, (await sandbox.execute(code)).status]).toEqual([code, "error"]);
    }
    expect(text(await sandbox.execute("import os\nos.system('exit 0')"))).toBe("-1");
  });

  it("keeps a recursion from ending the process", async () => {
    await using sandbox = await runtime.createSandbox({ minIsolation: "L0" });
    const run = await sandbox.execute("def f(n): return f(n + 1)\nf(0)");
    expect(run.error?.type).toBe("RecursionError");
    const deep = await sandbox.execute("import json\njson.loads('[' * 100_000)");
    expect(deep.status).toBe("error");
    expect(deep.state.survived).toBe(true);
  });
});

describe("spares", () => {
  it("are handed out once, and replaced", async () => {
    await using own = new PyodideRuntime({ walls: false, cache });
    const config = { minIsolation: "L0", spares: 1 } as const;
    await own.warm(config);
    const first = await own.createSandbox(config);
    const second = await own.createSandbox(config);
    await first.execute("mark = 1");
    expect(text(await second.execute("'mark' in globals()"))).toBe("False");
    await own.warm(config);
    const third = await own.createSandbox(config);
    expect(text(await third.execute("'mark' in globals()"))).toBe("False");
    await Promise.all([first, second, third].map((sandbox) => sandbox.destroy()));
  });
});
