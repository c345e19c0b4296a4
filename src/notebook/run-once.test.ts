import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import type { NativeRuntime } from "../backends/native/runtime.js";
import { type RunOnceOptions, runOnce } from "./run-once.js";

let runtime: NativeRuntime | undefined;
let unavailable: string | undefined;

beforeAll(async () => {
  ({ runtime, unavailable } = await openNativeRuntime());
});

afterAll(() => runtime?.[Symbol.asyncDispose]());

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

function run(code: string, options: Omit<RunOnceOptions, "code"> = {}) {
  return runOnce({ code, preload: "none", poolSize: 0, runtime, ...options });
}

/** Rooms of this process that are still there. */
function rooms(): string[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(`cellar-${process.pid}-`))
    .flatMap((name) => readdirSync(join(tmpdir(), name)))
    .filter((name) => name.startsWith("run-"));
}

describe("a run that leaves nothing", () => {
  it("gives what was printed", async () => {
    const code = "import sys\nprint('Hello, World!')\nprint('oh', file=sys.stderr)";
    expect(await run(code)).toEqual({
      stdout: "Hello, World!\n",
      stderr: "oh\n",
      exit_code: 0,
      state: null,
      files: [],
      error: null,
    });
  });

  it("tells of errors as a process would", async () => {
    const failed = await run("print('x', end='')\n1 / 0", { captureState: true });
    expect(failed).toMatchObject({
      stdout: "x",
      exit_code: 1,
      error: "ZeroDivisionError: division by zero",
    });
    expect(failed.stderr).toMatch(/^Traceback [\s\S]*<cell 1>", line 2[\s\S]*division by zero$/);
    const misspelt = await run("def f(:\n  pass");
    expect(misspelt).toMatchObject({ exit_code: 1, error: "SyntaxError: invalid syntax" });
    expect(misspelt.stderr).toMatch(/line 1[\s\S]*SyntaxError: invalid syntax$/);
  });

  it("leaves with the code that sys.exit was given", async () => {
    const ends = [];
    for (const given of ["0", "3", "'bad'"]) {
      const { exit_code, error, stderr } = await run(`import sys; sys.exit(${given})`);
      ends.push([exit_code, error, stderr]);
    }
    expect(ends).toEqual([
      [0, null, ""],
      [3, "SystemExit: 3", ""],
      [1, "SystemExit: bad", "bad"],
    ]);
  });

  it("names a time that ran out and a process that died", async () => {
    const late = await run("import time; time.sleep(60)", { timeout: 300, captureState: true });
    expect(late).toMatchObject({ exit_code: 124, state: null });
    expect(late.error).toMatch(/^TimeoutError: /);
    const dead = await run("import os; os._exit(7)", { captureState: true });
    expect(dead).toMatchObject({ exit_code: 134, state: null });
    expect(dead.error).toMatch(/^Crashed: /);
  });

  it("lists the files that were created, and removes them", async () => {
    const code = [
      "import os",
      "print(open('given/a.txt').read())",
      "open('given/a.txt', 'a').write('more')",
      "os.makedirs('out')",
      "open('out/plot.png', 'w').write('x')",
      "open('table.csv', 'w').write('y')",
      "os.symlink('/etc/passwd', 'link')",
    ].join("\n");
    const { files, stdout, error } = await run(code, { files: { "given/a.txt": "A" } });
    expect(error).toBeNull();
    expect(stdout).toBe("A\n");
    expect(files).toEqual(["link", "out/plot.png", "table.csv"]);
    expect(rooms()).toEqual([]);
  });

  it("ends what fills the workspace", async () => {
    const code = "import os\nos.write(os.open('f', os.O_CREAT | os.O_WRONLY), b'x' * (3 << 20))";
    const full = await run(code, { limits: { workspaceMb: 2 } });
    expect(full).toMatchObject({ exit_code: 1, error: expect.stringMatching(/^WorkspaceQuota/) });
    expect(rooms()).toEqual([]);
  });

  it("does not begin or go on when it is aborted", async () => {
    const before = AbortSignal.abort();
    await expect(run("1", { signal: before })).rejects.toMatchObject({ code: "ABORTED" });
    const control = new AbortController();
    const running = run("print('begun')\nimport time; time.sleep(60)", {
      signal: control.signal,
      onStdout: () => control.abort(),
    });
    await expect(running).rejects.toMatchObject({ code: "ABORTED" });
    expect(rooms()).toEqual([]);
  });

  it("refuses mistakes of its caller", async () => {
    const wrong: unknown[] = [
      undefined,
      {},
      { code: 5 },
      { code: "1", state: 5 },
      { code: "1", captureState: "yes" },
      { code: "1", files: "a" },
      { code: "1", files: { "../a": "" } },
      { code: "1", backend: "pyodide" },
    ];
    for (const options of wrong) {
      await expect(runOnce(options as RunOnceOptions)).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    }
    expect(rooms()).toEqual([]);
  });

  it("knows preloaded libraries by their usual names, which are not state", async (context) => {
    const preload = ["numpy", "json", "math"];
    const found = await run("import numpy", { preload });
    if (found.error !== null) context.skip(`numpy is not installed: ${found.error}`);
    const first = await run("x = np.arange(3)\nprint(math.pi > 3, json.dumps(1))", {
      preload,
      captureState: true,
    });
    expect(first).toMatchObject({ error: null, stdout: "True 1\n" });
    const { state } = first;
    const code = "print(x.sum(), sorted(n for n in globals() if not n.startswith('_')))";
    const second = await run(code, { preload, state });
    expect(second).toMatchObject({ error: null, stdout: "3 ['x']\n" });
    const own = await run("np = 5", { preload, captureState: true });
    expect(await run("print(np)", { preload, state: own.state })).toMatchObject({ stdout: "5\n" });
  });
});

describe("state that the caller keeps", () => {
  it("goes from run to run", async () => {
    const first = await run("x = [1]\ny = x\n_private = 1", { captureState: true });
    expect(first.state).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
    const code = "y.append(2)\nprint(x, '_private' in globals())";
    const second = await run(code, { state: first.state, captureState: true });
    expect(second).toMatchObject({ error: null, stdout: "[1, 2] False\n" });
    const third = await run("print(x is y, x)", { state: second.state });
    expect(third).toMatchObject({ error: null, stdout: "True [1, 2]\n", state: null });
  });

  it("is kept after an error too", async () => {
    const first = await run("x = 1\nraise ValueError('no')", { captureState: true });
    expect(first.error).toBe("ValueError: no");
    expect(await run("print(x)", { state: first.state })).toMatchObject({ stdout: "1\n" });
  });

  it("is null with an error where it cannot be written", async () => {
    const made = await run("g = (i for i in range(3))\nprint('done')", { captureState: true });
    expect(made).toMatchObject({ stdout: "done\n", stderr: "", exit_code: 0, state: null });
    expect(made.error).toMatch(/^State serialization failed: .*generator/);
    const large = await run("import os; x = os.urandom(3 << 20)", {
      captureState: true,
      stateMaxSizeMb: 1,
    });
    expect(large).toMatchObject({ exit_code: 0, state: null });
    expect(large.error).toMatch(/^State serialization failed: /);
  });

  it("is refused where it is damaged or too large", async () => {
    const { state } = await run("x = 1", { captureState: true });
    const bytes = Buffer.from(state ?? "", "base64");
    for (const each of ["%%%%", "abc", "QUJD\n", "QU=D"]) {
      const made = await run("print('ran')", { state: each });
      expect(made.error).toBe("State restoration failed: it is not base64");
    }
    const damaged = [
      Buffer.from("nothing of ours").toString("base64"),
      bytes.subarray(0, bytes.length >> 1).toString("base64"),
    ];
    for (const each of damaged) {
      const made = await run("print('ran')", { state: each, captureState: true });
      expect(made).toMatchObject({ stdout: "", exit_code: 1, state: null, files: [] });
      expect(made.error).toMatch(/^State restoration failed: /);
      expect(made.stderr).toBe(made.error);
    }
    const large = "A".repeat(4 << 20);
    const made = await run("print('ran')", { state: large, stateMaxSizeMb: 1 });
    expect(made.error).toMatch(/^State restoration failed: it is larger than 1048576 bytes/);
  });
});
