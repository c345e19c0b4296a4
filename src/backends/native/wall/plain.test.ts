import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { hostEnvironment } from "../../../config/environment.js";
import { locateBwrap } from "../../../isolation/layout.js";
import type { CodeExecution, REPLConfig } from "../../backend.js";
import { describeConformance } from "../../conformance.case.test.js";
import { NativeRuntime } from "../runtime.js";
import type { NativePythonSandbox } from "../sandbox.js";

const runtime = new NativeRuntime({ walls: false });
const open: NativePythonSandbox[] = [];
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];
const NO_CHECKPOINTS = "no checkpoints: plain process";

async function create(config: REPLConfig = {}): Promise<NativePythonSandbox> {
  const made = await runtime.createSandbox({
    minIsolation: "L0",
    timeout: 10_000,
    grace: 300,
    ...config,
  });
  open.push(made);
  return made;
}

/** Whether a process is there and not only waiting to be collected. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function untilGone(pids: readonly number[]): Promise<readonly number[]> {
  const deadline = Date.now() + 20_000;
  while (pids.some(isRunning) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return pids.filter(isRunning);
}

/** The session's Python, its keeper, a program it started and one that left its session. */
const LEAVES_PROCESSES = [
  "import os, subprocess, sys",
  "wait = [sys.executable, '-c', 'import time; time.sleep(600)']",
  "one = subprocess.Popen(wait)",
  "two = subprocess.Popen(wait, start_new_session=True)",
  "pids = [os.getpid(), os.getppid(), one.pid, two.pid]",
].join("\n");

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.destroy()));
});

afterAll(() => runtime[Symbol.asyncDispose]());

describeConformance({
  name: "plain",
  create: (config) => runtime.createSandbox({ minIsolation: "L0", ...config }),
  unavailable: () => undefined,
});

describe("what a plain session says of itself", () => {
  it("names its mode, its level and why", async () => {
    const sandbox = await create({ minIsolation: "L1" });
    expect(sandbox.info).toMatchObject({ backend: "native", mode: "plain" });
    expect(sandbox.info.isolation.level).toBe("L1");
    expect(sandbox.info.isolation.missing).toEqual(
      expect.arrayContaining(["seccomp", "outer-wall", "inner-wall", "canary", "cgroup.memory"]),
    );
    expect(sandbox.info.reason).toMatch(/bubblewrap/);
  });

  it("says with each result that there is no checkpoint", async () => {
    const sandbox = await create();
    const state = { survived: true, checkpoint: null, reason: NO_CHECKPOINTS };
    expect((await sandbox.execute("x = 1")).state).toEqual(state);
    const unrun = await sandbox.execute("x", { signal: AbortSignal.abort() });
    expect(unrun.state.checkpoint).toBeNull();
    const off = await create({ checkpoints: "off" });
    expect((await off.execute("x = 1")).state).toEqual(state);
  });

  it("refuses what needs checkpoints, with the reason", async () => {
    const sandbox = await create();
    await sandbox.execute("x = 1");
    for (const refused of [sandbox.undo(), sandbox.fork(), sandbox.checkpoints()]) {
      await expect(refused).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: expect.stringMatching(/plain process/),
        details: { reason: expect.stringMatching(/bubblewrap/) },
      });
    }
    expect(text(await sandbox.execute("x"))).toBe("1");
  });

  it("refuses mounts", async () => {
    const mounts = [{ host: tmpdir(), guest: "/data" }];
    await expect(create({ mounts })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});

describe("when walls are not there", () => {
  it("refuses unless minIsolation was lowered, naming cause, remedy and option", async () => {
    for (const config of [{}, { minIsolation: "L2" }, { minIsolation: "L3" }] as const) {
      const refused = runtime.createSandbox(config);
      await expect(refused).rejects.toMatchObject({
        code: "SANDBOX_UNAVAILABLE",
        message: expect.stringMatching(/bubblewrap.*L1.*below the minimum/s),
        remedy: expect.stringMatching(/minIsolation/),
        details: { option: "minIsolation", level: "L1" },
      });
    }
  });

  it("goes plain for a wall that cannot be raised, and tells why", async (context) => {
    if (process.platform !== "linux") context.skip("the walls need Linux");
    const here = hostEnvironment();
    const packageRoot = mkdtempSync(join(tmpdir(), "cellar-package-"));
    try {
      cpSync(join(here.packageRoot, "python"), join(packageRoot, "python"), { recursive: true });
      const zygote = join(packageRoot, "python", "cellar_runner", "zygote", "zygote.py");
      writeFileSync(zygote, "raise SystemExit('no walls today')");
      await using other = new NativeRuntime({ hostEnvironment: { ...here, packageRoot } });
      await expect(other.createSandbox()).rejects.toMatchObject({
        code: "SANDBOX_UNAVAILABLE",
        details: { cause: locateBwrap(here.path) === undefined ? "bwrap-missing" : "unknown" },
      });
      await using sandbox = await other.createSandbox({ minIsolation: "L1" });
      expect(sandbox.info).toMatchObject({ mode: "plain", isolation: { level: "L1" } });
      if (locateBwrap(here.path) !== undefined)
        expect(sandbox.info.reason).toMatch(/no walls today/);
      expect(text(await sandbox.execute("6 * 7"))).toBe("42");
    } finally {
      rmSync(packageRoot, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  it("tells when the plain process cannot start either", async () => {
    const packageRoot = mkdtempSync(join(tmpdir(), "cellar-package-"));
    try {
      const empty = new NativeRuntime({
        walls: false,
        hostEnvironment: { ...hostEnvironment(), packageRoot },
      });
      await expect(empty.createSandbox({ minIsolation: "L0" })).rejects.toMatchObject({
        code: "START_FAILED",
        message: expect.stringMatching(/subreaper\.py/),
      });
    } finally {
      rmSync(packageRoot, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  it("does not go plain where walls work, however low the minimum", async (context) => {
    await using walled = new NativeRuntime();
    const sandbox = await walled.createSandbox({ preload: "none", poolSize: 0 }).catch(() => {});
    if (sandbox === undefined) context.skip("this machine has no walls");
    await sandbox?.destroy();
    await using low = await walled.createSandbox({
      preload: "none",
      poolSize: 0,
      minIsolation: "L0",
    });
    expect(low.info.mode).toBe("zygote");
  });
});

describe("a plain process that ends takes the state with it, and the result says so", () => {
  const crashes: readonly (readonly [name: string, code: string, message: RegExp])[] = [
    ["a segmentation fault", "import ctypes; ctypes.string_at(0)", /SIGSEGV/],
    ["os._exit", "import os; os._exit(7)", /exit code 7/],
    ["SIGKILL to itself", "import os; os.kill(os.getpid(), 9)", /SIGKILL/],
  ];
  for (const [name, code, message] of crashes) {
    it(name, async () => {
      const sandbox = await create({ env: { GIVEN: "yes" } });
      await sandbox.initialize("the context");
      await sandbox.execute("x = 1");
      const run = await sandbox.execute(`print('last words')\n${code}`);
      expect(run).toMatchObject({ status: "crashed", stdout: "last words\n" });
      expect(run.error?.message).toMatch(message);
      expect(run.state).toMatchObject({ survived: false, checkpoint: null });
      expect(run.state.reason).toMatch(/no checkpoints/);
      const next = await sandbox.execute(
        "import os\n'x' in globals(), context, os.environ['GIVEN']",
      );
      expect(text(next)).toBe("(False, 'the context', 'yes')");
      expect(next.state).toEqual({ survived: true, checkpoint: null, reason: NO_CHECKPOINTS });
    });
  }

  it("a loop that swallows the interrupt", async () => {
    const sandbox = await create();
    await sandbox.execute("x = 1");
    const run = await sandbox.execute(
      "import time\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except KeyboardInterrupt: print('no')",
      { timeout: 1_000 },
    );
    expect(run).toMatchObject({ status: "timeout", state: { survived: false, checkpoint: null } });
    expect(run.stdout).toMatch(/^no\n/);
    expect(text(await sandbox.execute("'x' in globals()"))).toBe("False");
  });

  it("a C call that never looks at signals", async () => {
    const sandbox = await create();
    const run = await sandbox.execute("sum(range(10**12))", { timeout: 300 });
    expect(run).toMatchObject({ status: "timeout", state: { survived: false } });
    expect((await sandbox.execute("1")).status).toBe("ok");
  });

  it("a death between two cells", async () => {
    const sandbox = await create();
    const last = "import os, signal\nx = 1\nsignal.setitimer(signal.ITIMER_REAL, 0.3)\nos.getpid()";
    const pid = Number(text(await sandbox.execute(last)));
    expect(await untilGone([pid])).toEqual([]);
    // A cell that begins before the end of the link was read is the one that tells.
    const told = [await sandbox.execute("'x' in globals()")];
    if (told[0]?.status === "crashed") told.push(await sandbox.execute("'x' in globals()"));
    expect(text(told.at(-1) as CodeExecution)).toBe("False");
    expect(told[0]?.state).toMatchObject({ survived: false, checkpoint: null });
    expect((await sandbox.execute("1")).state.survived).toBe(true);
  });

  it("a cell that writes nonsense to the host", async () => {
    const sandbox = await create();
    const run = await sandbox.execute(
      "import os\nfor fd in range(1100, 1110):\n    try: os.write(fd, b'\\xff' * 64)\n    except OSError: pass\nimport time; time.sleep(30)",
    );
    expect(run.status).toBe("crashed");
    expect(run.error?.type).toBe("ProtocolError");
    expect((await sandbox.execute("1")).status).toBe("ok");
  });

  it("forged news of deaths and checkpoints are not believed", async () => {
    const sandbox = await create();
    const died =
      '{"jsonrpc":"2.0","method":"died","params":{"branch":0,"generation":0,"step":null,' +
      '"cause":{"kind":"oom"},"restored":0,"next_generation":9}}';
    await sandbox.setVariable("frame", died);
    const run = await sandbox.execute(
      "import os\nbody = frame.encode()\nfor fd in range(1100, 1110):\n    try: os.write(fd, len(body).to_bytes(4, 'big') + body)\n    except OSError: pass\n5",
    );
    expect(text(run)).toBe("5");
    expect(text(await sandbox.execute("6"))).toBe("6");
  });
});

describe("limits of a plain process", () => {
  it("ends an allocation above the memory limit and keeps the session", async (context) => {
    if (process.platform !== "linux") context.skip("only Linux limits memory this way");
    const sandbox = await create({ limits: { memoryMb: 128 } });
    await sandbox.execute("x = 1");
    const run = await sandbox.execute("bytearray(10**9)");
    expect(run).toMatchObject({ status: "oom", state: { survived: true } });
    expect(text(await sandbox.execute("len(bytearray(10**7)), x"))).toBe("(10000000, 1)");
  });

  it("limits files and their size", async () => {
    const sandbox = await create({ limits: { fileMb: 1, openFiles: 64 } });
    const large = await sandbox.execute("open('f', 'wb').write(b'x' * (1 << 21))");
    expect(large.error?.type).toBe("OSError");
    const many = await sandbox.execute("files = [open('f') for _ in range(100)]");
    expect(many.error?.message).toMatch(/Too many open files/);
  });

  it("passes nothing of the host's environment but the search path", async () => {
    process.env.CELLAR_TEST_SECRET = "s3cret";
    try {
      const sandbox = await create();
      const run = await sandbox.execute("import os\n' '.join(sorted(os.environ))");
      expect(text(run)).not.toMatch(/CELLAR|NODE|VITEST|npm/);
      const found = await sandbox.execute(
        "import subprocess\ns = open('/proc/self/environ').read() if os.path.exists('/proc') else ''\n's3cret' in s",
      );
      expect(text(found)).toBe("False");
    } finally {
      delete process.env.CELLAR_TEST_SECRET;
    }
  });

  it("starts in an empty folder of its own, which goes with the session", async () => {
    const sandbox = await create();
    const run = await sandbox.execute("import os\nopen('made', 'w').close()\nos.getcwd()");
    const folder = text(run)?.slice(1, -1) ?? "";
    expect(readdirSync(folder)).toEqual(["made"]);
    await sandbox.destroy();
    expect(existsSync(folder)).toBe(false);
  });
});

describe("nothing is left behind", () => {
  it("after destroy, also of what a cell started", async () => {
    const sandbox = await create();
    const run = await sandbox.execute(LEAVES_PROCESSES);
    expect(run.background).toBe(process.platform === "linux" ? 2 : 0);
    const pids = (await sandbox.getVariable("pids")) as number[];
    expect(pids.map(isRunning)).toEqual([true, true, true, true]);
    await sandbox.destroy();
    expect(await untilGone(pids)).toEqual([]);
  });

  it("after a crash", async () => {
    const sandbox = await create();
    await sandbox.execute(LEAVES_PROCESSES);
    const pids = (await sandbox.getVariable("pids")) as number[];
    await sandbox.execute("os.abort()");
    expect(await untilGone(pids)).toEqual([]);
  });

  it("after the host is killed while a cell holds the interpreter", async (context) => {
    if (process.platform !== "linux") context.skip("programs that left the group need Linux");
    const folder = mkdtempSync(join(tmpdir(), "cellar-host-"));
    const host = spawn(process.execPath, ["--input-type=module", "-e", HOST], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, TMPDIR: folder },
    });
    try {
      const [line] = (await once(host.stdout.setEncoding("utf8"), "data")) as [string];
      const pids = JSON.parse(line) as number[];
      expect(pids.map(isRunning)).toEqual([true, true, true, true]);
      host.kill("SIGKILL");
      expect(await untilGone([...pids, host.pid ?? 0])).toEqual([]);
    } finally {
      host.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    }
  });
});

const HOST = `
const { NativeRuntime } = await import(${JSON.stringify(new URL("../../../../dist/backends/native/runtime.js", import.meta.url).href)});
const runtime = new NativeRuntime({ walls: false });
const sandbox = await runtime.createSandbox({ minIsolation: "L0", timeout: 600000 });
await sandbox.execute(${JSON.stringify(LEAVES_PROCESSES)});
const pids = await sandbox.getVariable("pids");
sandbox.execute("sum(range(10**13))");
setTimeout(() => console.log(JSON.stringify(pids)), 300);
`;
