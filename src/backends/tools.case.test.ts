import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { CodeExecution, ISandbox, REPLConfig } from "./backend.js";
import type { ConformanceOptions } from "./conformance.case.test.js";
import { type HostToolOptions, type HostTools, hostTool } from "./host-tools/host-tool.js";
import { checkToolName } from "./host-tools/names.js";

const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

const add = hostTool({
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number().describe("the first"), b: z.number().default(10) }),
  execute: ({ a, b }) => a + b,
});

const AGENT = {
  maxGrepResults: 10,
  requireExplorationBeforeFinal: false,
  minExplorationCalls: 0,
};

/** Gives back what it was given. */
const echo = { description: "Gives back what it gets.", execute: (input: object) => input };

/** What every backend must do with tools of the host. */
export function describeHostTools(options: ConformanceOptions): void {
  const { waitsByAwait = false } = options;

  const check = (name: string, body: () => Promise<void>) =>
    it(name, async (context) => {
      const reason = options.unavailable() ?? options.skip?.[name];
      if (reason !== undefined) context.skip(reason);
      await body();
    });

  const withTools = async (
    tools: HostTools,
    body: (sandbox: ISandbox) => Promise<void>,
    config: REPLConfig = {},
  ) => {
    await using sandbox = await options.create({ timeout: 10_000, grace: 500, ...config, tools });
    await body(sandbox);
  };

  describe(`${options.name}: tools`, () => {
    check("are called with names, by position and with defaults", () =>
      withTools({ add }, async (sandbox) => {
        const code = `[add(a=1, b=2), add(1, 2.5), add(1), add(1, None)]`;
        const run = await sandbox.execute(code);
        expect([run.error, text(run)]).toEqual([null, "[3, 3.5, 11, 11]"]);
      }),
    );

    check("keep the types of values in both directions", () => {
      const seen: unknown[] = [];
      const take = {
        execute: (input: object) => {
          seen.push(input);
          return {
            at: new Date(0),
            big: 2n ** 70n,
            bytes: new Uint8Array([1, 2]),
            none: undefined,
          };
        },
      };
      return withTools({ take, echo }, async (sandbox) => {
        const run = await sandbox.execute(
          `got = take(n=2**70, raw=b'ab', pair=(1, 'é'), some={'x'}, map={1: None})\n` +
            "[got['at'].year, got['big'] == 2**70, got['bytes'], got['none']]",
        );
        expect([run.error, text(run)]).toEqual([null, "[1970, True, b'\\x01\\x02', None]"]);
        expect(seen).toEqual([
          {
            n: 2n ** 70n,
            raw: new Uint8Array([97, 98]),
            pair: [1, "é"],
            some: new Set(["x"]),
            map: new Map([[1, null]]),
          },
        ]);
        const back = `echo(x=float('nan'), y=[1.5, '\\ud83d 🎈'])['y']`;
        expect(text(await sandbox.execute(back))).toBe("[1.5, '\\ud83d 🎈']");
      });
    });

    check("give texts, lists and dicts that may be awaited, and plain values otherwise", () => {
      const tools = {
        say: { execute: () => "words" },
        names: { execute: () => ["a", "b"] },
        person: { execute: () => ({ name: "Ada" }) },
        nothing: { execute: () => {} },
      };
      return withTools(tools, async (sandbox) => {
        const run = await sandbox.execute(
          "import asyncio\n[await say(), *await asyncio.gather(names(), person())]",
        );
        expect([run.error, text(run)]).toEqual([null, "['words', ['a', 'b'], {'name': 'Ada'}]"]);
        if (!waitsByAwait) {
          const { error } = await sandbox.execute("await nothing()");
          expect(error?.hint).toContain("without `await`");
        }
        const plain = `import pickle
found = person()
[nothing(), type(pickle.loads(pickle.dumps(found)))]`;
        expect(text(await sandbox.execute(plain))).toBe("[None, dict]");
      });
    });

    check("that cannot wait in a plain function say that they must be awaited", () =>
      withTools({ add }, async (sandbox) => {
        const run = await sandbox.execute("def more(n): return add(n)\nmore(1)");
        if (!waitsByAwait) expect(text(run)).toBe("11");
        else expect(run.error?.message).toContain("await add(");
      }),
    );

    check("are told of by help()", () =>
      withTools({ add }, async (sandbox) => {
        const { stdout } = await sandbox.execute("help(add)");
        expect(stdout).toContain("add(a, b=None)");
        expect(stdout).toContain("Adds two numbers.");
        expect(stdout).toContain("a (float): the first");
        expect(stdout).toContain("b (float, optional)");
      }),
    );

    check("refuse what does not fit, and say what is wrong", () => {
      let calls = 0;
      const order = hostTool({
        description: "Orders a thing.",
        inputSchema: z.object({
          item: z.string(),
          lines: z.array(z.object({ count: z.int() })),
          size: z.enum(["s", "l"]).optional(),
        }),
        execute: () => {
          calls += 1;
          return "ordered";
        },
      });
      return withTools({ order, echo }, async (sandbox) => {
        const wrong = async (code: string) => (await sandbox.execute(code)).error;
        const typed = await wrong("order(5, [{'count': 1}, {'count': 'x'}])");
        expect(typed?.type).toContain("HostError");
        expect(typed?.message).toMatch(/item: .*string/);
        expect(typed?.message).toMatch(/lines\[1\]\.count: .*expected number/);
        expect(typed?.hint).toContain("order(item: str, lines: list[dict]");
        expect((await wrong("order('x')"))?.message).toContain("lines: ");
        expect((await wrong("order('x', [], 'm')"))?.message).toMatch(/size: .*"s"/);
        expect((await wrong("order('x', colour=1)"))?.message).toBe(
          "order() takes item, lines, size, and no colour",
        );
        expect((await wrong("order('x', item='y')"))?.message).toContain("item twice");
        expect((await wrong("order(1, 2, 3, 4)"))?.message).toContain("4 were given");
        expect((await wrong("echo(1)"))?.message).toContain("arguments by name");
        expect((await wrong("echo(x=object())"))?.message).toContain("cannot be passed on");
        expect((await wrong("echo(x='x' * 17_000_000)"))?.message).toMatch(/too long|too much/);
        expect((await wrong("echo(**{'$': 'int'})"))?.message).toContain("got invalid arguments");
        expect(calls).toBe(0);
        expect(text(await sandbox.execute("order('x', [])"))).toBe("'ordered'");
      });
    });

    check("raise what they throw, and name what cannot go into the sandbox", () => {
      const tools: HostTools = {
        fail: {
          execute: () => {
            throw new Error("the shop is closed");
          },
        },
        odd: { execute: async () => ({ inner: [() => 1] }) },
        huge: { execute: () => "x".repeat(17_000_000) },
      };
      return withTools(tools, async (sandbox) => {
        const failed = (await sandbox.execute("fail()")).error;
        expect(failed).toMatchObject({ message: "the shop is closed" });
        expect(failed?.type).toContain("HostError");
        expect(failed?.traceback).not.toContain("cellar_runner");
        expect((await sandbox.execute("odd()")).error?.message).toContain(
          'odd returned a value that Python cannot use: value["inner"][0]',
        );
        expect((await sandbox.execute("huge()")).error?.type).toContain("HostError");
        expect(text(await sandbox.execute("6 * 7"))).toBe("42");
      });
    });

    check("stop the cell's clock, and have a time limit of their own", () =>
      withTools(
        { slow: { execute: () => sleep(1200, "late") }, never: { execute: () => sleep(60_000) } },
        async (sandbox) => {
          expect(text(await sandbox.execute("slow()"))).toBe("'late'");
          const { error } = await sandbox.execute("never()");
          expect(error?.message).toBe("never took longer than 2 s");
        },
        { timeout: 700, queryTimeout: 2000 },
      ),
    );

    check("are told of a cancel, and the session goes on", () => {
      let aborted = 0;
      let wake = () => {};
      const asked = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const hang = {
        execute: (_input: object, { abortSignal, signal, toolCallId }: HostToolOptions) => {
          if (abortSignal !== signal || toolCallId === "") throw new Error("not as promised");
          signal.addEventListener("abort", () => {
            aborted += 1;
          });
          wake();
          return new Promise(() => {});
        },
      };
      return withTools({ hang }, async (sandbox) => {
        await sandbox.execute("kept = 1");
        const run = sandbox.execute("hang()");
        await asked;
        await sandbox.cancel();
        expect((await run).status).toBe("cancelled");
        expect(aborted).toBe(1);
        expect(text(await sandbox.execute("kept"))).toBe("1");
      });
    });

    check("are called from threads too, and share the limit of questions", () => {
      let running = 0;
      let most = 0;
      const wait = {
        execute: async (input: { n: number }) => {
          running += 1;
          most = Math.max(most, running);
          await sleep(50);
          running -= 1;
          return input.n;
        },
      };
      return withTools(
        { wait },
        async (sandbox) => {
          const run = await sandbox.execute(
            [
              "from concurrent.futures import ThreadPoolExecutor",
              "with ThreadPoolExecutor(8) as pool:",
              "    found = list(pool.map(lambda n: wait(n=n), range(12)))",
              "found == list(range(12))",
            ].join("\n"),
          );
          expect([run.error, text(run), most]).toEqual([null, "True", 3]);
        },
        { queryConcurrency: 3 },
      );
    });

    check("are nobody's variables, come back, and give way to a variable", () =>
      withTools({ add }, async (sandbox) => {
        expect((await sandbox.variables()).map(({ name }) => name)).not.toContain("add");
        await sandbox.execute("import builtins\ndel builtins.add");
        expect(text(await sandbox.execute("add(1)"))).toBe("11");
        await sandbox.execute("add = 5");
        expect(text(await sandbox.execute("add"))).toBe("5");
        await sandbox.execute("del add");
        expect(text(await sandbox.execute("add(2)"))).toBe("12");
      }),
    );

    check("cannot wait for the sandbox that waits for them", async () => {
      let refused: unknown;
      const tools: HostTools = {
        inner: {
          execute: async () => {
            await sandbox.execute("1").catch((error: unknown) => {
              refused = error;
            });
          },
        },
      };
      const sandbox: ISandbox = await options.create({ timeout: 10_000, tools });
      try {
        await sandbox.execute("inner()");
        expect(refused).toMatchObject({ code: "INVALID_INPUT" });
      } finally {
        await sandbox.destroy();
      }
    });

    check("are refused under names that are taken", async () => {
      const names = ["__proto__", "not a name", "class", "print", "llm_query", "FINAL", "context"];
      for (const name of names) {
        const tools = JSON.parse(JSON.stringify({ [name]: {} })) as HostTools;
        await expect(options.create({ tools })).rejects.toMatchObject({
          code: "INVALID_CONFIG",
          message: expect.stringContaining("its name"),
        });
      }
    });

    check("cannot hide any built-in of a session", async () => {
      await using sandbox = await options.create({ agent: AGENT });
      await sandbox.execute("import builtins, keyword\nnames = dir(builtins) + keyword.kwlist");
      const names = (await sandbox.getVariable("names")) as string[];
      expect(names.length).toBeGreaterThan(100);
      for (const name of names) expect(() => checkToolName(name), name).toThrow("its name");
    });

    check("are there in a fork, after undo and in a session that had to begin anew", async () => {
      await withTools({ add }, async (sandbox) => {
        if (sandbox.info.mode !== "zygote") return;
        await sandbox.execute("x = 1");
        await using fork = await sandbox.fork();
        expect(text(await fork.execute("add(x)"))).toBe("11");
        await sandbox.undo();
        expect(text(await sandbox.execute("add(3)"))).toBe("13");
        await sandbox.execute("import os; os._exit(1)");
        expect(text(await sandbox.execute("add(4)"))).toBe("14");
      });
      await withTools({ add }, async (sandbox) => {
        if (waitsByAwait) return;
        const lost = await sandbox.execute("import os; os._exit(1)");
        expect(lost.status).toBe("crashed");
        expect(text(await sandbox.execute("add(5)"))).toBe("15");
      });
    });
  });
}
