import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ISandbox, isCellarError } from "../../src/index.js";
import { AttackFixture } from "./attack-fixture.js";

/** Values that fight back when the host asks for them. */
const FIGHTERS: Readonly<Record<string, string>> = {
  "hangs in repr": "class V:\n    def __repr__(self):\n        while True: pass",
  "exits in repr": "import os\nclass V:\n    def __repr__(self): os._exit(3)",
  "raises what hangs":
    "class E(Exception):\n    def __str__(self):\n        while True: pass\nclass V:\n    def __repr__(self): raise E()",
  "has a type that exits":
    "class M(type):\n    def __getattribute__(c, n): raise SystemExit(n)\nclass V(metaclass=M): pass",
  "kills its process": "import os\nclass V:\n    def __repr__(self): os.kill(os.getpid(), 9)",
  "is stopped": "import os\nclass V:\n    def __repr__(self): os.kill(os.getpid(), 19)",
};

const fixture = new AttackFixture();

describe("asking for a value that", () => {
  fixture.keepHost();

  it.each(Object.entries(FIGHTERS))("%s costs an error, not the session", async (_name, code) => {
    await using sandbox = await fixture.runner.sandbox({ timeout: 800, grace: 200 });
    await sandbox.execute(`kept = 7\n${code}\nvalue = V()`);
    for (const ask of [() => sandbox.getVariable("value"), () => sandbox.variables()]) {
      await ask().catch((error: unknown) => expect(isCellarError(error)).toBe(true));
      expect(await sandbox.getVariable("kept")).toBe(7);
      expect((await sandbox.execute("kept")).result).toEqual({ "text/plain": "7" });
    }
  });
});

describe("values from inside", () => {
  fixture.keepHost();

  it("are bounded, whatever their size and shape", async () => {
    await using sandbox = await fixture.runner.sandbox();
    await sandbox.execute(
      [
        "ring = []; ring.append(ring)",
        "deep = []",
        "for _ in range(100_000): deep = [deep]",
        "wide = list(range(2_000_000))",
        "text = 'a' * (40 << 20)",
        "data = b'a' * (40 << 20)",
        "number = 10 ** 100_000",
        "odd = ['\\ud800', float('nan'), float('inf'), 1j]",
      ].join("\n"),
    );
    for (const name of ["ring", "deep", "wide", "text", "data", "number", "odd"]) {
      const value = await sandbox.getVariable(name);
      expect(value, name).toBeDefined();
    }
  });

  it("cannot reach into the host's objects", async () => {
    await using sandbox = await fixture.runner.sandbox();
    await sandbox.execute(
      "value = {'__proto__': {'polluted': 1}, 'constructor': {'prototype': {'polluted': 1}}}",
    );
    const value = await sandbox.getVariable("value");
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("are listed within bounds, whatever their names", async () => {
    await using sandbox = await fixture.runner.sandbox();
    await sandbox.execute(
      "globals().update({'v%d' % i: i for i in range(200_000)})\nglobals().update({'w' * (1 << 20) + str(i): i for i in range(20)})\nglobals()[5] = 6; globals()['a\\ud800'] = 3",
    );
    const variables = await sandbox.variables();
    expect(variables.length).toBeGreaterThan(0);
    expect(JSON.stringify(variables).length).toBeLessThan(16 << 20);
  });
});

describe("orders to a session under attack", () => {
  fixture.keepHost();

  it("destroy() ends a cell that ignores everything", async () => {
    const sandbox = await fixture.runner.sandbox({ grace: 200 });
    const running = sandbox.execute(
      "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
    );
    await sandbox.destroy();
    expect((await running).status).toBe("cancelled");
  });

  it("init rests although a process that is gone set its alarm for ever", async () => {
    await using sandbox = await fixture.runner.sandbox();
    const ticks = "sum(map(int, open('/proc/1/stat').read().split()[13:15]))";
    await sandbox.execute(
      "import ctypes, os, time\nif os.fork() == 0:\n    time.sleep(0.1)\n    ctypes.CDLL(None).timerfd_settime(1105, 0, (ctypes.c_long * 4)(0, 1, 0, 1), None)\n    os._exit(0)",
    );
    await sleep(1500);
    const spent = Number((await sandbox.execute(ticks)).result?.["text/plain"]);
    expect(spent).toBeLessThan(60);
  });

  it("cancel() takes back a whole queue", async () => {
    await using sandbox = await fixture.runner.sandbox();
    const runs = Array.from({ length: 50 }, () => sandbox.execute("import time; time.sleep(60)"));
    await sandbox.cancel();
    expect(new Set((await Promise.all(runs)).map(({ status }) => status))).toEqual(
      new Set(["cancelled"]),
    );
  });

  it("undo() to a checkpoint that was killed says so", async () => {
    await using sandbox = await fixture.runner.sandbox();
    await sandbox.execute("x = 1");
    await sandbox.execute("x = 2; import os; os.kill(-1, 9)");
    await expect(sandbox.undo()).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
    expect(await sandbox.getVariable("x")).toBe(2);
  });

  it("twins that end each other's processes tell the loss", async () => {
    await using sandbox: ISandbox = await fixture.runner.sandbox();
    await sandbox.execute("x = 5");
    await using twin = await sandbox.fork();
    await twin.execute("import os; os.kill(-1, 9)");
    const run = await sandbox.execute("x");
    if (run.status === "ok") expect(run.result).toEqual({ "text/plain": "5" });
    else expect(run.state.survived).toBe(false);
  });

  it.each([
    ["a null byte", "x = '\0'", "error"],
    ["a lone surrogate", "x = '\ud800'", "error"],
    [
      "binary junk",
      Buffer.from(Array.from({ length: 4096 }, (_, i) => i % 256)).toString("latin1"),
      "error",
    ],
    ["many lines", "x = 1\n".repeat(20_000), "ok"],
  ])("source with %s has a clear end", async (_name, code, status) => {
    await using sandbox = await fixture.runner.sandbox();
    expect((await sandbox.execute(code)).status).toBe(status);
  });

  it("source that is too large is refused before it is sent", async () => {
    await using sandbox = await fixture.runner.sandbox();
    const huge = `#${"x".repeat(50 << 20)}`;
    await expect(sandbox.execute(huge)).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect((await sandbox.execute("1")).status).toBe("ok");
  });
});
