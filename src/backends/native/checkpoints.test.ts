import { afterAll, afterEach, describe, expect, it, type TestContext, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { CodeExecution, REPLConfig } from "../backend.js";
import type { NativePythonSandbox } from "./sandbox.js";

const { runtime, unavailable } = await openNativeRuntime();
const open: NativePythonSandbox[] = [];
const WAITING = { timeout: 30_000, interval: 50 };
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

async function create(config: REPLConfig = {}): Promise<NativePythonSandbox> {
  const sandbox = await runtime.createSandbox({
    preload: "standard",
    poolSize: 1,
    timeout: 10_000,
    grace: 300,
    checkpoints: "always",
    ...config,
  });
  open.push(sandbox);
  return sandbox;
}

function check(name: string, body: (context: TestContext) => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body(context);
  });
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.destroy()));
});

afterAll(() => runtime[Symbol.asyncDispose]());

describe("a cell that fails loses only itself", () => {
  const endings: readonly (readonly [name: string, code: string, status: string])[] = [
    ["a segmentation fault", "import ctypes; ctypes.string_at(0)", "crashed"],
    ["os._exit(0)", "import os; os._exit(0)", "crashed"],
    ["abort", "import os; os.abort()", "crashed"],
    ["SIGKILL to itself", "import os; os.kill(os.getpid(), 9)", "crashed"],
    [
      "a loop that ignores signals",
      "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nwhile True: pass",
      "timeout",
    ],
    ["a C call that never checks signals", "sum(range(10**12))", "timeout"],
    ["a stopped process", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "timeout"],
  ];
  for (const [name, code, status] of endings) {
    check(name, async () => {
      const sandbox = await create();
      await sandbox.execute("k = 41\nlst = [1]\ngen = (i * i for i in range(10))\nnext(gen)");
      await sandbox.execute("next(gen)");
      const run = await sandbox.execute(`k = -1\nlst.clear()\nlist(gen)\n${code}`, {
        timeout: 500,
      });
      expect(run.status).toBe(status);
      expect(run.error?.message).not.toBe("");
      expect(run.state).toMatchObject({ survived: true, checkpoint: 2 });
      expect(text(await sandbox.execute("(k, lst, next(gen))"))).toBe("(41, [1], 4)");
    });
  }

  check("a loop that the time limit interrupts", async () => {
    const sandbox = await create();
    await sandbox.execute("k = 1");
    const run = await sandbox.execute("k = 2\nprint('seen')\nwhile True: pass", { timeout: 300 });
    expect(run).toMatchObject({ status: "timeout", stdout: "seen\n" });
    expect(run.state).toEqual({ survived: true, checkpoint: 1 });
    expect(text(await sandbox.execute("k"))).toBe("1");
    const live = await create({ checkpoints: "off" });
    await live.execute("k = 1");
    await live.execute("k = 2\nwhile True: pass", { timeout: 300 });
    expect(text(await live.execute("k"))).toBe("2");
  });

  check("a cell that is cancelled keeps what it had done", async () => {
    const sandbox = await create();
    const running = sandbox.execute("k = 2\nimport time\ntime.sleep(30)");
    setTimeout(() => sandbox.cancel(), 200);
    expect((await running).status).toBe("cancelled");
    expect(text(await sandbox.execute("k"))).toBe("2");
  });

  check("the first cell too", async () => {
    const sandbox = await create();
    const run = await sandbox.execute("x = 1\nimport os; os.abort()");
    expect(run.state).toEqual({ survived: true, checkpoint: 0 });
    expect(text(await sandbox.execute("'x' in globals()"))).toBe("False");
  });

  check("output before the crash is kept", async () => {
    const sandbox = await create();
    const run = await sandbox.execute("print('before')\nimport os; os.abort()");
    expect(run.stdout).toBe("before\n");
  });

  check("memory beyond the limit", async () => {
    const sandbox = await create({ limits: { memoryMb: 200 } });
    await sandbox.execute("k = 1");
    const eager = await sandbox.execute("x = bytearray(1 << 30)");
    expect(eager).toMatchObject({ status: "oom", state: { survived: true } });
    const shared = await sandbox.execute(
      [
        "import mmap, os",
        "kids = []",
        "for _ in range(8):",
        "    if os.fork() == 0:",
        "        b = bytearray(b'x') * (150 << 20)",
        "        import time; time.sleep(20)",
        "        os._exit(0)",
        "big = bytearray(b'y') * (150 << 20)",
        "import time; time.sleep(20)",
      ].join("\n"),
      { timeout: 8000 },
    );
    expect(shared.status).toMatch(/oom|timeout/);
    expect(text(await sandbox.execute("k"))).toBe("1");
  });
});

describe("going back and forking", () => {
  check("undo restores what no pickle can", async () => {
    const sandbox = await create();
    await sandbox.execute("f = lambda: 1\nit = iter([1, 2, 3])");
    await sandbox.execute("next(it)");
    await sandbox.execute("next(it)");
    expect(await sandbox.undo(1)).toEqual({ id: 2, cell: 2 });
    expect(text(await sandbox.execute("(f(), next(it))"))).toBe("(1, 2)");
    expect(await sandbox.undo(3)).toEqual({ id: 0, cell: 0 });
    expect(text(await sandbox.execute("'f' in globals()"))).toBe("False");
    await expect(sandbox.undo(9)).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
    await expect(sandbox.undo(0)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  check(
    "goes back behind a figure, whose drawing leaves files to be closed late",
    async (context) => {
      const sandbox = await create({ preload: ["matplotlib.pyplot"] });
      const drawn = await sandbox.execute(
        "import matplotlib.pyplot as plt\nlines = plt.plot([1, 2])",
      );
      if (drawn.error?.type === "ModuleNotFoundError") context.skip("there is no matplotlib");
      await sandbox.execute("lines = None");
      await sandbox.undo(1);
      expect(text(await sandbox.execute("len(lines)"))).toBe("1");
    },
  );

  check("lists checkpoints, bounded, and refuses those that are gone", async () => {
    const sandbox = await create({ keepCheckpoints: 3 });
    for (let cell = 1; cell <= 6; cell += 1) await sandbox.execute(`n = ${cell}`);
    expect((await sandbox.checkpoints()).map(({ cell }) => cell)).toEqual([0, 4, 5, 6]);
    await expect(sandbox.undo(4)).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
    await sandbox.undo(2);
    expect(text(await sandbox.execute("n"))).toBe("4");
  });

  check("random state is kept by a rollback and new in a session", async () => {
    const sandbox = await create();
    await sandbox.execute("import random; random.seed(42)");
    const first = await sandbox.execute("random.random()");
    await sandbox.undo(1);
    expect(text(await sandbox.execute("random.random()"))).toBe(text(first));
    const draws = new Set<string | undefined>();
    for (let index = 0; index < 3; index += 1) {
      const other = await create();
      draws.add(text(await other.execute("import random; random.random()")));
    }
    expect(draws.size).toBe(3);
  });

  check("a process started in an earlier cell is still a child", async () => {
    const sandbox = await create();
    await sandbox.execute(
      "import subprocess; p = subprocess.Popen(['/bin/sh', '-c', 'sleep 0.05; exit 7'])",
    );
    const run = await sandbox.execute(
      "import os\nr = p.wait()\ntry: os.waitpid(-1, 0)\nexcept ChildProcessError: r = (r, 'none')\nr",
    );
    expect(text(run)).toBe("(7, 'none')");
  });

  check("open files come back at their offsets, sockets as lost", async () => {
    const sandbox = await create();
    await sandbox.execute(
      "f = open('/workspace/t', 'w+'); f.write('abcdef'); f.seek(0)\nimport socket; a, b = socket.socketpair()\nf.read(2)",
    );
    const crash = await sandbox.execute("f.read(2)\nimport os; os.abort()");
    expect(crash.state.lost?.join()).toMatch(/socket/);
    expect(text(await sandbox.execute("f.read(2)"))).toBe("'cd'");
    expect((await sandbox.execute("a.send(b'x')")).error?.type).toBe("OSError");
  });

  check("live threads switch the checkpoint off, and the result says so", async () => {
    const sandbox = await create();
    const run = await sandbox.execute(
      "import threading, time\nt = threading.Thread(target=time.sleep, args=(0.5,))\nt.start()",
    );
    expect(run.state).toMatchObject({ survived: true, checkpoint: null });
    expect(run.state.reason).toMatch(/thread/);
    const after = await sandbox.execute("t.join()\nx = 5");
    expect(after.state.checkpoint).toBe(2);
  });

  check("large memory switches it off, and a later crash tells what is lost", async () => {
    const sandbox = await create();
    await sandbox.execute("small = 1");
    const run = await sandbox.execute("big = bytearray(b'x') * (400 << 20)");
    expect(run.state.checkpoint).toBeNull();
    expect(run.state.reason).toMatch(/memory/);
    const crash = await sandbox.execute("import os; os.abort()");
    expect(crash.state).toMatchObject({ survived: false, checkpoint: 1 });
    expect(crash.state.reason).toMatch(/2/);
    expect(text(await sandbox.execute("(small, 'big' in globals())"))).toBe("(1, False)");
  });

  check("a cell that kills its checkpoints is told that state was lost", async () => {
    const sandbox = await create();
    await sandbox.execute("x = 1");
    const run = await sandbox.execute("import os; os.kill(-1, 9); os._exit(1)");
    expect(run).toMatchObject({ status: "crashed", state: { survived: false, checkpoint: 0 } });
    expect((await sandbox.execute("1")).status).toBe("ok");
  });

  check("checkpoints can be off, and say so", async () => {
    const sandbox = await create({ checkpoints: "off" });
    const run = await sandbox.execute("x = 1");
    expect(run.state).toMatchObject({ survived: true, checkpoint: null });
    await expect(sandbox.fork()).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
    const crash = await sandbox.execute("import os; os.abort()");
    expect(crash.state).toMatchObject({ survived: false, checkpoint: 0 });
  });

  check(
    "auto makes them when the session rests, and a crash says which cells it took back",
    async () => {
      const sandbox = await create({ checkpoints: "auto", checkpointInterval: 600_000 });
      const run = await sandbox.execute("x = 1");
      expect(run.state).toEqual({ survived: true, checkpoint: 0, unsaved: 1 });
      const cells = async () => (await sandbox.checkpoints()).map(({ cell }) => cell);
      await vi.waitFor(async () => expect(await cells()).toEqual([0, 1]), WAITING);
      // Asked for in one breath; on a busy machine the session may rest between them all the same.
      const [, , crash] = await Promise.all(
        ["x = 2", "x = 3", "import os; os.abort()"].map((code) => sandbox.execute(code)),
      );
      const { checkpoint, survived, lostCells = [] } = crash?.state ?? {};
      expect(lostCells).toEqual([2, 3].filter((cell) => cell > Number(checkpoint)));
      expect(survived).toBe(lostCells.length === 0);
      expect(text(await sandbox.execute("x"))).toBe(`${checkpoint}`);
    },
  );

  check("auto makes one before the next cell once too much would be lost", async () => {
    const sandbox = await create({ checkpoints: "auto", checkpointInterval: 50 });
    const [quick, slow, crash] = await Promise.all(
      ["x = 1", "import time; time.sleep(0.06); x = 2", "import os; os.abort()"].map((code) =>
        sandbox.execute(code),
      ),
    );
    expect(quick?.state.survived).toBe(true);
    expect(slow?.state).toEqual({ survived: true, checkpoint: 2 });
    expect(crash?.state).toMatchObject({ survived: true, checkpoint: 2 });
    expect(text(await sandbox.execute("x"))).toBe("2");
  });

  check("what the host sets is held at once, whatever the interval", async () => {
    const sandbox = await create({ checkpoints: "auto", checkpointInterval: 600_000 });
    await sandbox.execute("x = 1");
    const [, crash] = await Promise.all([
      sandbox.setVariable("y", 2),
      sandbox.execute("import os; os.abort()"),
    ]);
    expect(crash.state).toMatchObject({ survived: true });
    expect(text(await sandbox.execute("x + y"))).toBe("3");
  });

  check("a session that rests is copied also after questions that are no cells", async () => {
    const sandbox = await create({ checkpoints: "auto", checkpointInterval: 600_000 });
    const asked = [sandbox.execute("x = 1"), sandbox.getVariable("x"), sandbox.getVariable("x")];
    await Promise.all(asked);
    const twin = await sandbox.fork();
    open.push(twin);
    expect(text(await twin.execute("x"))).toBe("1");
  });

  check("fork gives a twin that goes its own way", async () => {
    const sandbox = await create();
    await sandbox.execute("x = [1]");
    const twin = await sandbox.fork();
    open.push(twin);
    await Promise.all([sandbox.execute("x.append('a')"), twin.execute("x.append('b')")]);
    expect(text(await sandbox.execute("x"))).toBe("[1, 'a']");
    expect(text(await twin.execute("x"))).toBe("[1, 'b']");
    const crash = await twin.execute("import os; os.abort()");
    expect(crash.state.survived).toBe(true);
    expect(text(await twin.execute("x"))).toBe("[1, 'b']");
    await twin.undo(3);
    expect(text(await twin.execute("x"))).toBe("[1]");
    const slow = sandbox.execute("import time; time.sleep(0.4); 'whole'");
    await twin.execute("while True: pass", { timeout: 100 });
    expect(text(await slow)).toBe("'whole'");
    await sandbox.destroy();
    expect(text(await twin.execute("x"))).toBe("[1]");
  });

  check("a fork has none of the states before it, and takes no other for them", async () => {
    const sandbox = await create();
    for (const code of ["x = 1", "x = 2", "x = 3"]) await sandbox.execute(code);
    const twin = await sandbox.fork();
    open.push(twin);
    await expect(twin.undo()).rejects.toThrow("the state after cell 2 is no longer kept");
    expect(text(await twin.execute("x"))).toBe("3");
  });

  check("a restart from nothing sets the environment and the context again", async () => {
    const sandbox = await create({ checkpoints: "off", env: { COLOUR: "green" } });
    await sandbox.initialize("the context");
    await sandbox.execute("import os; os.abort()");
    expect(text(await sandbox.execute("(os.environ['COLOUR'], context)"))).toBe(undefined);
    expect(text(await sandbox.execute("import os; (os.environ['COLOUR'], context)"))).toBe(
      "('green', 'the context')",
    );
  });

  check("an event loop works after a rollback", async () => {
    const sandbox = await create();
    await sandbox.execute("import asyncio\nawait asyncio.sleep(0)");
    await sandbox.execute("import os; os.abort()");
    const run = await sandbox.execute(
      "await asyncio.sleep(0.01)\nawait asyncio.to_thread(len, [1])",
    );
    expect(run.error).toBeNull();
  });

  check("workspace files are not rolled back", async () => {
    const sandbox = await create();
    await sandbox.execute("open('a.txt', 'w').write('1')");
    await sandbox.execute("open('a.txt', 'w').write('2')");
    await sandbox.undo(1);
    expect(text(await sandbox.execute("open('a.txt').read()"))).toBe("'2'");
  });

  check("rlm_query is about the context of the state that came back", async () => {
    const sandbox = await create({ onRLMQuery: (_, context) => String(context).slice(0, 5) });
    await sandbox.initialize("early");
    await sandbox.execute("1");
    await sandbox.initialize("x".repeat(2_000_000));
    expect(text(await sandbox.execute("rlm_query('x')"))).toBe("'xxxxx'");
    await sandbox.undo(2);
    expect(text(await sandbox.execute("rlm_query('x')"))).toBe("'early'");
    const twin = await sandbox.fork();
    open.push(twin);
    expect(text(await twin.execute("rlm_query('x')"))).toBe("'early'");
  });

  check("a signal handler that asks while the cell waits is told that it cannot", async () => {
    let release: (answer: string) => void = () => {};
    let heard = "";
    const sandbox = await create({
      onStdout: (line) => {
        heard += line;
      },
      onLLMQuery: (prompt) => {
        if (prompt === "inner") return "never heard";
        return new Promise((resolve) => {
          release = resolve;
        });
      },
    });
    const code = [
      "import signal",
      "told = []",
      "def ask(*_):",
      "    try: llm_query('inner')",
      "    except HostError as error: told.append(str(error))",
      "    print('rang', flush=True)",
      "signal.signal(signal.SIGALRM, ask)",
      "signal.setitimer(signal.ITIMER_REAL, 1.0)",
      "(llm_query('outer'), told)",
    ].join("\n");
    const running = sandbox.execute(code);
    await vi.waitFor(() => expect(heard).toContain("rang"), WAITING);
    release("late");
    expect(text(await running)).toContain("signal handler");
  });
});
