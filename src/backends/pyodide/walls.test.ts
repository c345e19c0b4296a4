import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { NOT_IN_WEBASSEMBLY } from "../../../test/support/pyodide-skips.js";
import { isCellarError } from "../../errors.js";
import type { CodeExecution } from "../backend.js";
import { describeConformance } from "../conformance.case.test.js";
import { PyodideRuntime } from "./runtime.js";

const cache = mkdtempSync(join(tmpdir(), "cellar-pyodide-test-"));
const runtime = new PyodideRuntime({ cache });
const unavailable = await whyNot();
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

async function whyNot(): Promise<string | undefined> {
  try {
    await (await runtime.createSandbox()).destroy();
    return undefined;
  } catch (error) {
    if (isCellarError(error, "SANDBOX_UNAVAILABLE")) return error.message;
    throw error;
  }
}

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  rmSync(cache, { recursive: true, force: true, maxRetries: 10 });
});

describeConformance({
  name: "pyodide behind walls",
  create: (config) => runtime.createSandbox(config),
  unavailable: () => unavailable,
  skip: NOT_IN_WEBASSEMBLY,
});

describe.skipIf(unavailable !== undefined)("pyodide behind walls", () => {
  it("says how it is isolated, from what was tried", async () => {
    await using sandbox = await runtime.createSandbox();
    expect(sandbox.info).toMatchObject({ backend: "pyodide", mode: "worker" });
    expect(sandbox.info.isolation.level).toMatch(/^L3-?$/);
    expect(sandbox.info.reason).toMatch(/bubblewrap.*snapshot/);
  });

  it("gives C output and print in the order of writing", async () => {
    await using sandbox = await runtime.createSandbox();
    const run = await sandbox.execute(
      "import ctypes, os, sys\nprint('one')\nos.write(1, b'two\\n')\nctypes.CDLL(None).puts(b'four')\nsys.stderr.write('five\\n');",
    );
    expect(run.stdout).toBe("one\ntwo\nfour\n");
    expect(run.stderr).toBe("five\n");
  });

  it("says what there is not", async () => {
    await using sandbox = await runtime.createSandbox();
    const shell = await sandbox.execute("!echo from the shell");
    expect(shell.status).toBe("error");
    const install = await sandbox.execute("%pip install surely-not-there");
    expect(install.error?.message).toContain("surely-not-there");
    const threads = await sandbox.execute(
      "import threading\nthreading.Thread(target=print).start()",
    );
    expect(threads.error?.type).toBe("RuntimeError");
    await expect(sandbox.fork()).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(sandbox.undo()).rejects.toMatchObject({ code: "UNSUPPORTED" });
    const mounts = [{ host: tmpdir(), guest: "/data" }];
    await expect(runtime.createSandbox({ mounts })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it("ends a cell that takes too much memory, and goes on", async () => {
    await using sandbox = await runtime.createSandbox({ limits: { memoryMb: 256 } });
    const run = await sandbox.execute("kept = 1\nbig = bytearray(400 * 1024 * 1024)");
    expect(run).toMatchObject({ status: "oom", error: { type: "MemoryError" } });
    expect(text(await sandbox.execute("kept"))).toBe("1");
    const grown = await sandbox.execute("rows = []\nwhile True: rows.append(bytes(1 << 20))");
    expect(grown.status).toBe("oom");
  });

  it("ends a loop that swallows its interrupt, says so, and begins anew", async () => {
    await using sandbox = await runtime.createSandbox({ grace: 200 });
    await sandbox.execute("kept = 1");
    const run = await sandbox.execute(
      "while True:\n  try:\n    while True: pass\n  except KeyboardInterrupt: pass",
      { timeout: 1_000 },
    );
    expect(run.status).toBe("timeout");
    expect(run.state).toMatchObject({ survived: false, checkpoint: null });
    expect(run.state.reason).toMatch(/no checkpoints/);
    expect(text(await sandbox.execute("'kept' in globals()"))).toBe("False");
  });

  it("tells of a process that Python ended", async () => {
    await using sandbox = await runtime.createSandbox();
    const run = await sandbox.execute("print('before')\nimport os\nos._exit(3)");
    expect(run).toMatchObject({ status: "crashed", stdout: "before\n" });
    expect(run.error?.message).toContain("exit code 3");
    expect((await sandbox.execute("1")).state.survived).toBe(true);
  });

  it("never gives two sessions the same random numbers", async () => {
    const draw = async () => {
      await using sandbox = await runtime.createSandbox();
      return text(await sandbox.execute("import random\nrandom.random()"));
    };
    expect(await draw()).not.toBe(await draw());
  });
});

/** Ways from Python to the host; each prints what it reached. */
const ESCAPES: Readonly<Record<string, string>> = {
  "os.system": "import os\nos.system('echo reached > {mark}')",
  "import js": "import js\nprint('reached', js.process.pid)",
  "import pyodide_js": "import pyodide_js\nprint('reached', pyodide_js.version)",
  "a folder of the host":
    "from pyodide_js import mountNodeFS\nmountNodeFS('/mnt', '/etc')\nprint('reached', open('/mnt/passwd').read())",
  emscripten_run_script:
    "import ctypes\nn = ctypes.CDLL(None).emscripten_run_script_int(b'40 + 2')\nif n == 42: print('reached')",
  run_js: "from pyodide.code import run_js\nprint('reached', run_js('40 + 2'))",
  "the constructor of a constructor":
    "from pyodide.ffi import to_js\nprint('reached', to_js([]).constructor.constructor('return process')().pid)",
  "any object that is still referred to": [
    "import gc",
    "from pyodide.ffi import JsProxy",
    "for one in gc.get_objects():",
    "    if isinstance(one, JsProxy):",
    "        print('reached', one.constructor.constructor('return 40 + 2')())",
    "print('done')",
  ].join("\n"),
};

describe.skipIf(unavailable !== undefined)("what leads from Python to the host", () => {
  it.each(Object.entries(ESCAPES))("%s is closed behind walls", async (_, code) => {
    const folder = mkdtempSync(join(tmpdir(), "cellar-escape-"));
    const mark = join(folder, "mark");
    try {
      await using sandbox = await runtime.createSandbox();
      const run = await sandbox.execute(code.replace("{mark}", mark));
      expect(run.stdout).not.toContain("reached");
      expect(existsSync(mark)).toBe(false);
      expect((await sandbox.execute("6 * 7")).result).toEqual({ "text/plain": "42" });
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  it("is open in a Pyodide that nothing was done about", async () => {
    const folder = mkdtempSync(join(tmpdir(), "cellar-escape-"));
    try {
      const reached = await inBarePyodide(folder);
      expect(reached).toEqual(
        Object.keys(ESCAPES).filter((name) => name !== "any object that is still referred to"),
      );
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });
});

/** The same attempts in a Pyodide as it comes, in a process of its own; those that reach something. */
async function inBarePyodide(folder: string): Promise<string[]> {
  const script = join(folder, "bare.mjs");
  const mark = join(folder, "mark");
  writeFileSync(
    script,
    `import { existsSync, rmSync } from "node:fs";
     import { loadPyodide } from ${JSON.stringify(import.meta.resolve("pyodide"))};
     let said = "";
     const python = await loadPyodide({ stdout: (line) => { said += line; } });
     const reached = [];
     for (const [name, code] of Object.entries(${JSON.stringify(ESCAPES)})) {
       said = "";
       try { python.runPython(code.replace("{mark}", ${JSON.stringify(mark)})); } catch {}
       if (said.includes("reached") || existsSync(${JSON.stringify(mark)})) reached.push(name);
       rmSync(${JSON.stringify(mark)}, { force: true });
     }
     process.stdout.write(JSON.stringify(reached));
     process.exit();`,
  );
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  for await (const chunk of child.stdout) out += String(chunk);
  return (JSON.parse(out) as string[]).filter(
    (name) => name !== "any object that is still referred to",
  );
}

/** Processes of rooms that belong to a host. */
function roomsOf(host: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return words.some((word) => word.includes("inside/process.js")) && isBelow(pid, host);
      } catch {
        return false;
      }
    });
}

function isBelow(pid: number, ancestor: number): boolean {
  for (let at = pid; at > 1; ) {
    if (at === ancestor) return true;
    const status = readFileSync(`/proc/${at}/status`, "utf8");
    at = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return false;
}

function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function untilGone(pids: readonly number[]): Promise<readonly number[]> {
  const deadline = Date.now() + 20_000;
  while (pids.some(isThere) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return pids.filter(isThere);
}

describe.skipIf(unavailable !== undefined)("processes", () => {
  it("leave nothing behind over many sandboxes", async () => {
    await using own = new PyodideRuntime({ cache });
    const round = async () => {
      await using sandbox = await own.createSandbox({ spares: 0 });
      expect((await sandbox.execute("1")).status).toBe("ok");
    };
    for (let count = 0; count < 5; count += 1) await round();
    const before = process.memoryUsage().rss;
    const running = roomsOf(process.pid).length;
    for (let count = 0; count < 45; count += 5) {
      await Promise.all(Array.from({ length: 5 }, round));
    }
    const left = roomsOf(process.pid);
    expect(left.length).toBeLessThanOrEqual(running);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  }, 120_000);

  it.each(["behind walls", "without walls"])(
    "end with a host that is killed, %s",
    async (place) => {
      const folder = mkdtempSync(join(tmpdir(), "cellar-host-"));
      const script = join(folder, "host.mjs");
      const entry = new URL("../../../dist/backends/pyodide/runtime.js", import.meta.url).href;
      writeFileSync(
        script,
        `import { PyodideRuntime } from ${JSON.stringify(entry)};
       const options = { cache: ${JSON.stringify(cache)}, walls: ${place === "behind walls"} };
       const runtime = new PyodideRuntime(options);
       await runtime.warm({ minIsolation: "L0" });
       const sandbox = await runtime.createSandbox({ minIsolation: "L0" });
       await sandbox.execute("1");
       process.stdout.write("ready");
       await sandbox.execute("while True: pass", { timeout: 600_000 });`,
      );
      const host = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
      try {
        await new Promise((resolve) => host.stdout.once("data", resolve));
        const rooms = roomsOf(host.pid ?? 0);
        expect(rooms.length).toBeGreaterThan(0);
        host.kill("SIGKILL");
        expect(await untilGone(rooms)).toEqual([]);
      } finally {
        host.kill("SIGKILL");
        rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
      }
    },
  );
});
