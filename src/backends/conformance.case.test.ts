import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CodeExecution, ISandbox, REPLConfig } from "./backend.js";
import { describeBridges } from "./bridges.case.test.js";
import { describeContexts } from "./context.case.test.js";
import { describeFiles } from "./files.case.test.js";
import { describeHostTools } from "./tools.case.test.js";
import { describeUtilities } from "./utilities.case.test.js";

export interface ConformanceOptions {
  readonly name: string;
  create(config?: REPLConfig): Promise<ISandbox>;
  /** Why nothing can be run here, when so. */
  unavailable(): string | undefined;
  /** Tests by name that do not apply, each with its reason. */
  readonly skip?: Readonly<Record<string, string>>;
  /** Whether a plain function cannot wait for the host's answers. */
  readonly waitsByAwait?: boolean;
}

const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

/** What every backend must do with cells. */
export function describeConformance(options: ConformanceOptions): void {
  for (const more of [describeBridges, describeHostTools, describeUtilities]) more(options);
  for (const more of [describeContexts, describeFiles]) more(options);
  describe(`${options.name}: cells`, () => {
    let sandbox: ISandbox;
    const streamed: string[] = [];

    const check = (name: string, body: () => Promise<void>) =>
      it(name, async (context) => {
        const reason = options.unavailable() ?? options.skip?.[name];
        if (reason !== undefined) context.skip(reason);
        await body();
      });

    beforeAll(async () => {
      if (options.unavailable() !== undefined) return;
      sandbox = await options.create({
        timeout: 5000,
        grace: 500,
        onStdout: (line) => streamed.push(`out:${line}`),
        onStderr: (line) => streamed.push(`err:${line}`),
      });
    });

    afterAll(async () => {
      await sandbox?.destroy();
    });

    check("gives the value of the last expression and keeps state", async () => {
      const first = await sandbox.execute("x = 41\nx + 1");
      expect(first).toMatchObject({ status: "ok", error: null, stdout: "", stderr: "" });
      expect(text(first)).toBe("42");
      expect(text(await sandbox.execute("x"))).toBe("41");
      expect((await sandbox.execute("x = 2")).result).toBeNull();
      expect((await sandbox.execute("x + 1;")).result).toBeNull();
    });

    check("streams stdout and stderr line by line, in order", async () => {
      streamed.length = 0;
      const run = await sandbox.execute(
        "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\nprint('d\\ne')",
      );
      expect(run.stdout).toBe("a\nc\nd\ne\n");
      expect(run.stderr).toBe("b\n");
      expect(run.outputs).toEqual([
        { type: "stdout", text: "a\n" },
        { type: "stderr", text: "b\n" },
        { type: "stdout", text: "c\nd\ne\n" },
      ]);
      expect(streamed).toEqual(["out:a\n", "err:b\n", "out:c\n", "out:d\n", "out:e\n"]);
    });

    check("shows unfinished lines and redrawn lines while the cell still runs", async () => {
      streamed.length = 0;
      const seen: number[] = [];
      const running = sandbox.execute(
        "import time\nprint('10%', end='\\r')\nprint('half', end='')\ntime.sleep(0.6)\nprint('!')",
      );
      const timer = setInterval(() => seen.push(streamed.length), 20);
      const run = await running;
      clearInterval(timer);
      expect(run.stdout).toBe("10%\rhalf!\n");
      expect(streamed.slice(0, 2)).toEqual(["out:10%\r", "out:half"]);
      expect(seen).toContain(2);
    });

    check("captures C code and subprocesses in order with print", async () => {
      const run = await sandbox.execute(
        [
          "import ctypes, os, subprocess, sys",
          "print('one')",
          "os.write(1, b'two\\n')",
          "subprocess.run([sys.executable, '-c', 'print(\"three\")'])",
          "ctypes.CDLL(None).puts(b'four')",
        ].join("\n"),
      );
      expect(run.stdout).toBe("one\ntwo\nthree\nfour\n");
      const mixed = await sandbox.execute(
        "print('a')\nsys.stderr.write('b\\n')\nos.write(1, b'c\\n')\nsys.stderr.write('d\\n');",
      );
      expect(mixed.outputs.map((each) => (each.type === "display" ? "" : each.text))).toEqual([
        "a\n",
        "b\n",
        "c\n",
        "d\n",
      ]);
    });

    check("keeps UTF-8 whole across writes and replaces what is not UTF-8", async () => {
      const run = await sandbox.execute(
        "import os\nfor b in '€😀'.encode(): os.write(1, bytes([b]))\nos.write(1, b'\\xff|')\nprint('\\ud800')",
      );
      expect(run.stdout).toBe("€😀\ufffd|\\ud800\n");
    });

    check("reports an exception with user frames and source lines only", async () => {
      await sandbox.execute("def f(n):\n    return 1 / n");
      const run = await sandbox.execute("y = 'kept'\nf(0)");
      expect(run.status).toBe("error");
      expect(run.error).toMatchObject({ type: "ZeroDivisionError", message: "division by zero" });
      expect(run.error?.traceback).toContain("return 1 / n");
      expect(run.error?.traceback).toContain("f(0)");
      expect(run.error?.traceback).not.toMatch(/cellar_runner|interpreter\.py|exec\(/);
      expect(text(await sandbox.execute("y"))).toBe("'kept'");
    });

    check("ends the cell, not the session, on SystemExit", async () => {
      await sandbox.execute("kept = 1");
      const run = await sandbox.execute("import sys\nsys.exit(3)");
      expect(run).toMatchObject({ status: "error", exitCode: 3, error: { type: "SystemExit" } });
      expect(text(await sandbox.execute("kept"))).toBe("1");
    });

    check("answers input() with what to do", async () => {
      const run = await sandbox.execute("input('name? ')");
      expect(run.status).toBe("error");
      expect(run.error?.message).toMatch(/input\(\)/);
    });

    check("treats warnings as stderr", async () => {
      const run = await sandbox.execute("import warnings\nwarnings.warn('careful')\n1");
      expect(run.status).toBe("ok");
      expect(run.stderr).toContain("careful");
    });

    check("runs top-level await", async () => {
      const run = await sandbox.execute("import asyncio\nawait asyncio.sleep(0)\n'done'");
      expect(text(run)).toBe("'done'");
    });

    check("supports classes, dataclasses, pickling and inspect.getsource", async () => {
      const run = await sandbox.execute(
        [
          "import dataclasses, inspect, pickle",
          "@dataclasses.dataclass",
          "class P:",
          "    a: int",
          "def g():",
          "    return 'source'",
          "(pickle.loads(pickle.dumps(P(3))), inspect.getsource(g))",
        ].join("\n"),
      );
      expect(text(run)).toBe("(P(a=3), \"def g():\\n    return 'source'\\n\")");
    });

    check("runs shell lines and explains package installs", async () => {
      expect((await sandbox.execute("!echo from the shell")).stdout).toBe("from the shell\n");
      const install = await sandbox.execute("%pip install surely-not-there");
      expect(install.error?.message).toContain("cellar install surely-not-there");
      expect((await sandbox.execute("%matplotlib inline\n5")).status).toBe("ok");
      expect((await sandbox.execute("%timeit -n 1 -r 1 1 + 1")).stdout).toMatch(/per loop/);
      const unknown = await sandbox.execute("%surely_not_a_magic");
      expect(unknown.error?.type).not.toBe("SyntaxError");
    });

    check("bounds output while it is produced, with head, tail and a notice", async () => {
      const before = process.memoryUsage().rss;
      const run = await sandbox.execute(
        "import os\nprint('first')\nfor _ in range(4000): os.write(1, b'x' * 65536)\nprint('last')",
        { maxOutputLength: 1000, timeout: 30_000 },
      );
      expect(run.stdout.length).toBeLessThan(1200);
      expect(run.stdout).toMatch(/^first\nx+/);
      expect(run.stdout).toMatch(/bytes omitted/);
      expect(run.stdout).toMatch(/x\nlast\n$|xlast\n$/);
      expect(run.omitted.stdout).toBeGreaterThan(200_000_000);
      expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    });

    check("gives short output whole", async () => {
      const run = await sandbox.execute("print('x' * 900)", { maxOutputLength: 1000 });
      expect(run.stdout).toBe(`${"x".repeat(900)}\n`);
      expect(run.omitted).toEqual({ stdout: 0, stderr: 0 });
    });

    check("stops an endless loop at the time limit and keeps state", async () => {
      await sandbox.execute("before = 'there'");
      const run = await sandbox.execute("while True: pass", { timeout: 300 });
      expect(run.status).toBe("timeout");
      expect(run.error?.message).toMatch(/0\.3 s/);
      expect(run.state.survived).toBe(true);
      expect(text(await sandbox.execute("before"))).toBe("'there'");
    });

    check("covers the repr of the last value by the time limit", async () => {
      const run = await sandbox.execute(
        "class R:\n    def __repr__(self):\n        while True: pass\nR()",
        { timeout: 300 },
      );
      expect(run.status).toBe("timeout");
    });

    check("cancels a running cell, and a cell that has not begun", async () => {
      const running = sandbox.execute("import time\ntime.sleep(30)");
      const waiting = sandbox.execute("never = 1");
      await new Promise((resolve) => setTimeout(resolve, 200));
      await sandbox.cancel();
      expect((await running).status).toBe("cancelled");
      expect((await waiting).status).toBe("cancelled");
      expect(text(await sandbox.execute("'never' in globals()"))).toBe("False");
    });

    check("cancels at any moment", async () => {
      for (const delay of [0, 0, 1, 2, 5]) {
        const running = sandbox.execute("import time\ntime.sleep(30)");
        if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
        await sandbox.cancel();
        expect((await running).status).toBe("cancelled");
      }
      expect((await sandbox.execute("1")).status).toBe("ok");
    });

    check("takes an AbortSignal for one cell", async () => {
      const controller = new AbortController();
      const running = sandbox.execute("import time\ntime.sleep(30)", { signal: controller.signal });
      setTimeout(() => controller.abort(), 100);
      expect((await running).status).toBe("cancelled");
      const late = await sandbox.execute("1", { signal: AbortSignal.abort() });
      expect(late.status).toBe("cancelled");
    });

    check("drops an interrupt that comes after its cell", async () => {
      for (let round = 0; round < 30; round += 1) {
        const quick = sandbox.execute("1");
        setTimeout(() => sandbox.cancel(), round % 4);
        const next = quick.then(() => sandbox.execute("import time\ntime.sleep(0.01)\n'whole'"));
        expect((await quick).status).toMatch(/ok|cancelled/);
        const whole = await next;
        // The timer may hit the second cell itself, and then that cell says so.
        if (whole.status !== "cancelled") expect(text(whole)).toBe("'whole'");
        else expect(whole.error?.type).toBe("Cancelled");
      }
    });

    check("refuses bad input with a code and loses nothing", async () => {
      await sandbox.execute("kept = 'yes'");
      expect((await sandbox.execute("a = (")).error?.type).toBe("SyntaxError");
      expect((await sandbox.execute("a\0b")).status).toBe("error");
      expect((await sandbox.execute("'\ud800'")).status).toMatch(/ok|error/);
      expect((await sandbox.execute("\u0001\u0002\ufffd")).status).toBe("error");
      expect((await sandbox.execute("")).status).toBe("ok");
      expect((await sandbox.execute("# only a comment")).status).toBe("ok");
      await expect(sandbox.execute("#".repeat(50 * 1024 * 1024))).rejects.toMatchObject({
        code: "TOO_LARGE",
      });
      await expect(sandbox.execute(5 as unknown as string)).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      await expect(sandbox.execute("1", { timeout: -1 })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      expect(text(await sandbox.execute("kept"))).toBe("'yes'");
    });

    check("reports the isolation level with each result", async () => {
      const run = await sandbox.execute("1");
      expect(run.isolation).toEqual(sandbox.info.isolation);
      expect(run.isolation.level).toMatch(/^L[0-4]-?$/);
    });

    check("reads and writes variables", async () => {
      await sandbox.setVariable("given", {
        a: [1, 2.5, null, "ü"],
        big: 2n ** 70n,
        nan: Number.NaN,
      });
      expect(text(await sandbox.execute("given['a'][3], given['big'] == 2**70"))).toBe(
        "('ü', True)",
      );
      expect(await sandbox.getVariable("given")).toEqual({
        a: [1, 2.5, null, "ü"],
        big: 2n ** 70n,
        nan: Number.NaN,
      });
      expect(await sandbox.getVariable("surely_missing")).toBeUndefined();
      await expect(sandbox.setVariable("not a name", 1)).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      const names = (await sandbox.variables()).map(({ name }) => name);
      expect(names).toContain("given");
      expect(names.filter((name) => name.startsWith("_"))).toEqual([]);
    });

    check("makes the context known to Python", async () => {
      await sandbox.initialize("a long text");
      expect(text(await sandbox.execute("context"))).toBe("'a long text'");
      await sandbox.initialize({ documents: ["a", "b"] });
      expect(text(await sandbox.execute("len(context['documents'])"))).toBe("2");
    });

    check("runs many cells one at a time in the order they came", async () => {
      await sandbox.execute("seen = []");
      const runs = Array.from({ length: 20 }, (_, index) =>
        sandbox.execute(`seen.append(${index})`),
      );
      await Promise.all(runs);
      expect(text(await sandbox.execute("seen == list(range(20))"))).toBe("True");
    });

    check("survives what a cell does to the interpreter", async () => {
      const sabotage = [
        "import builtins; builtins.print = builtins.exec = builtins.compile = builtins.repr = None",
        "import sys, io; sys.stdout = io.StringIO(); sys.stderr = None; sys.displayhook = None",
        "import os; os.dup2(os.open(os.devnull, 1), 1); os.dup2(1, 2)",
        "import json; json.dumps = json.JSONEncoder.encode = None",
        "import sys; sys.modules.clear()",
      ];
      for (const code of sabotage) {
        const victim = await options.create({ timeout: 5000, grace: 500 });
        try {
          await victim.execute(code);
          const run = await victim.execute("raise KeyError('seen')");
          expect([code, run.error?.type]).toEqual([code, "KeyError"]);
        } finally {
          await victim.destroy();
        }
      }
    });

    check("outlives callbacks that throw, and tells of them once", async () => {
      const warnings: string[] = [];
      const listen = ({ message }: Error) => warnings.push(message);
      process.on("warning", listen);
      const throwing = () => {
        throw new Error("not mine");
      };
      await using careless = await options.create({
        onStdout: throwing,
        onStderr: async () => throwing(),
        onDisplay: throwing,
      });
      const code = "import sys, time\nprint('a'); time.sleep(0.1); print('b', file=sys.stderr)";
      for (const source of [code, "print('a'); x = 1", code]) {
        expect(await careless.execute(source)).toMatchObject({ status: "ok", stdout: "a\n" });
      }
      expect(text(await careless.execute("x"))).toBe("1");
      process.off("warning", listen);
      expect(warnings).toEqual(["an output callback failed: not mine"]);
    });

    check("serves a cell that a callback asks for", async () => {
      let inner: Promise<CodeExecution> | undefined;
      await using nested: ISandbox = await options.create({
        onStdout: () => {
          inner ??= nested.execute("6 * 7");
        },
      });
      expect((await nested.execute("print('go')")).status).toBe("ok");
      expect(await inner).toMatchObject({ status: "ok", result: { "text/plain": "42" } });
    });

    check("refuses limits that no timer can hold", async () => {
      for (const timeout of [0, -1, 1.5, 2 ** 31, Number.NaN]) {
        await expect(sandbox.execute("1", { timeout })).rejects.toMatchObject({
          code: "INVALID_INPUT",
        });
      }
    });

    check("destroy does not wait for a question that hangs", async () => {
      const stuck = await options.create({ timeout: 600_000, grace: 100 });
      await stuck.execute("class A:\n  def __repr__(self):\n    while True: pass\na = A()");
      const question = stuck.getVariable("a");
      const lost = expect(question).rejects.toMatchObject({ code: "SESSION_LOST" });
      await Promise.all([stuck.destroy(), stuck.destroy()]);
      await lost;
    });

    check("refuses use after destroy with a code", async () => {
      const gone = await options.create();
      await gone.destroy();
      await gone.destroy();
      await expect(gone.execute("1")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
      await expect(gone.getVariable("x")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    });
  });
}
