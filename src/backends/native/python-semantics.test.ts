import { afterAll, describe, expect, it, type TestContext } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { CodeExecution } from "../backend.js";

const { runtime, unavailable } = await openNativeRuntime();
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

function check(name: string, body: (context: TestContext) => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body(context);
  });
}

function open(memoryMb = 1024) {
  return runtime.createSandbox({
    preload: "none",
    poolSize: 0,
    timeout: 30_000,
    checkpoints: "always",
    limits: { memoryMb },
  });
}

afterAll(() => runtime[Symbol.asyncDispose]());

describe("a SIGINT that code sends itself", () => {
  const OWN = [
    "import _thread, time; _thread.interrupt_main(); time.sleep(30)",
    "import signal; signal.raise_signal(signal.SIGINT)",
    "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "import threading, time, _thread\nthreading.Timer(0.1, _thread.interrupt_main).start()\nwhile True: time.sleep(0.05)",
    "!kill -INT $PPID\nimport time; time.sleep(30)",
  ];

  check("raises KeyboardInterrupt, and the session goes on", async () => {
    await using sandbox = await open();
    for (const code of OWN) {
      const run = await sandbox.execute(`mark = 1\n${code}\nprint('still here')`);
      expect([code, run.status, run.error?.type, run.stdout]).toEqual([
        ...[code, "error", "KeyboardInterrupt", ""],
      ]);
      expect(run.state.survived).toBe(true);
    }
    const asynchronous = await sandbox.execute(
      "import asyncio, signal\nasync def main():\n    try:\n        signal.raise_signal(signal.SIGINT)\n" +
        "        await asyncio.sleep(30)\n    finally: print('cancelled')\nasyncio.run(main())",
    );
    expect(asynchronous).toMatchObject({ status: "error", stdout: "cancelled\n" });
    const handled =
      "seen = []\nsignal.signal(signal.SIGINT, lambda *_: seen.append(1))\nsignal.raise_signal(signal.SIGINT)\nseen";
    expect(text(await sandbox.execute(handled))).toBe("[1]");
    expect(
      text(await sandbox.execute("signal.getsignal(signal.SIGINT) is signal.default_int_handler")),
    ).toBe("True");
  });

  check("strikes nothing between cells, however often it comes", async () => {
    await using sandbox = await open();
    await sandbox.execute(
      "import threading, time, _thread\ndef late():\n    for _ in range(50):\n        time.sleep(0.01)\n" +
        "        _thread.interrupt_main()\nthread = threading.Thread(target=late); thread.start(); k = 41",
    );
    await new Promise((resolve) => setTimeout(resolve, 800));
    const run = await sandbox.execute("thread.join(); k");
    expect([run.status, text(run), run.state.survived]).toEqual(["ok", "41", true]);
  });

  check("cannot keep the host from ending a cell", async () => {
    await using sandbox = await open();
    for (const handler of ["signal.SIG_IGN", "lambda *_: None", "signal.SIG_DFL"]) {
      const running = sandbox.execute(
        `import signal, time\nk = ${JSON.stringify(handler)}\nsignal.signal(signal.SIGINT, ${handler})\n` +
          "print('ready')\ntime.sleep(30)",
      );
      setTimeout(() => sandbox.cancel(), 300);
      const run = await running;
      // It ended by itself: one that had to be killed would have lost what it assigned.
      expect([run.status, run.state.survived]).toEqual(["cancelled", true]);
      expect(text(await sandbox.execute("k"))).toBe(`'${handler}'`);
    }
  });
});

describe("memory that runs out", () => {
  const WAYS = {
    objects: "x = []\nwhile True: x.append(object())",
    "a dict": "d = {}\ni = 0\nwhile True:\n    d[i] = str(i); i += 1",
    "lists of a function": "def f():\n    x = []\n    while True: x.append([x])\nf()",
    "a thread":
      "import threading\nx = []\ndef grow():\n    while True: x.append(object())\n" +
      "thread = threading.Thread(target=grow); thread.start(); thread.join()\n[object() for _ in range(10**8)]",
    "deep recursion":
      "import sys\nsys.setrecursionlimit(10**9)\ndef f(a): return f([a] * 1000)\nf(0)",
  };

  check(
    "is told, also where nothing is left to say so with, and the state is that before",
    async () => {
      await using sandbox = await open(60);
      await sandbox.execute("k = 41");
      for (const [name, code] of Object.entries(WAYS)) {
        const run = await sandbox.execute(`k = 0\n${code}`);
        expect([name, run.status, run.error?.type]).toEqual([name, "oom", "MemoryError"]);
        expect(text(await sandbox.execute("k"))).toBe("41");
      }
      const caught =
        "x = []\ntry:\n    while True: x.append(object())\nexcept MemoryError: x.clear()\n'went on'";
      expect(text(await sandbox.execute(caught))).toBe("'went on'");
    },
  );

  check("without checkpoints leaves a session that can free it", async () => {
    await using sandbox = await runtime.createSandbox({
      ...{ preload: "none", poolSize: 0, checkpoints: "off", limits: { memoryMb: 60 } },
    });
    await sandbox.execute("x = []\nk = 41");
    for (let round = 0; round < 2; round++) {
      expect((await sandbox.execute("while True: x.append(object())")).status).toBe("oom");
      expect(text(await sandbox.execute("x.clear(); k"))).toBe("41");
    }
    await sandbox.execute("import resource\nwhile True: x.append(object())");
    // All that there is: not even the runner's own reserve is left.
    const greedy =
      "soft, hard = resource.getrlimit(resource.RLIMIT_DATA)\n" +
      "resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))\nwhile True: x.append(object())";
    expect((await sandbox.execute(greedy)).status).toBe("oom");
  });
});

/** Runs tests of Python's own inside, and gives how many ran and which failed. */
const SUITE =
  "import io, unittest\ndef run(*names):\n" +
  "    suite = unittest.defaultTestLoader.loadTestsFromNames(names)\n" +
  "    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)\n" +
  "    return result.testsRun > 0, [str(test) for test, _ in result.failures + result.errors]\n";

check(
  "Python's own tests of generators, interrupts, input and pickling pass inside",
  async (context) => {
    await using sandbox = await open();
    const found = await sandbox.execute(
      "import importlib.util as u\nu.find_spec('test') is not None and u.find_spec('test.test_generators') is not None",
    );
    if (text(found) !== "True") context.skip("this Python comes without its tests");
    const names = [
      "test.test_generators",
      "test.test_threading.InterruptMainTests",
      "test.test_builtin.BuiltinTest.test_input",
      "test.test_pickle.CompatPickleTests",
      "test.test_pickle.CPicklerTests.test_builtin_exceptions",
    ];
    const run = await sandbox.execute(`${SUITE}run(*${JSON.stringify(names)})`);
    expect([run.error, text(run)]).toEqual([null, "(True, [])"]);
  },
);
