import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { CodeExecution, ISandbox, LLMQuery, REPLConfig, RLMQuery } from "./backend.js";
import type { ConformanceOptions } from "./conformance.case.test.js";

const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];

/** What every backend must do with questions that Python puts to the host. */
export function describeBridges(options: ConformanceOptions): void {
  const { waitsByAwait = false } = options;

  const check = (name: string, body: () => Promise<void>) =>
    it(name, async (context) => {
      const reason = options.unavailable() ?? options.skip?.[name];
      if (reason !== undefined) context.skip(reason);
      await body();
    });

  const withSandbox = async (config: REPLConfig, body: (sandbox: ISandbox) => Promise<void>) => {
    await using sandbox = await options.create({ timeout: 10_000, grace: 500, ...config });
    await body(sandbox);
  };

  const echo: LLMQuery = async (prompt, { model }) => `${model ?? "default"}: ${prompt}`;

  describe(`${options.name}: bridges`, () => {
    check("llm_query gives the callback's answer as a str", () =>
      withSandbox({ onLLMQuery: echo }, async (sandbox) => {
        const run = await sandbox.execute(
          `answer = llm_query('hé\\ud83d 🎈\\n', model='m')\n(answer, isinstance(answer, str))`,
        );
        expect(text(run)).toBe("('m: hé\\ud83d 🎈\\n', True)");
        expect(await sandbox.getVariable("answer")).toBe("m: hé\ud83d 🎈\n");
        const plain = await sandbox.execute(
          "import pickle\ntype(pickle.loads(pickle.dumps(answer)))",
        );
        expect(text(plain)).toBe("str");
      }),
    );

    check("an answer may be awaited", () =>
      withSandbox({ onLLMQuery: echo }, async (sandbox) => {
        const run = await sandbox.execute(
          "import asyncio\nawait asyncio.gather(llm_query('a'), llm_query('b'))",
        );
        expect(text(run)).toBe("['default: a', 'default: b']");
        const batch = await sandbox.execute("(await llm_query_batched(['x', 'y']))[1]");
        expect(text(batch)).toBe("'default: y'");
      }),
    );

    check("calls wait wherever a cell may, and say what to do where they cannot", () =>
      withSandbox({ onLLMQuery: echo }, async (sandbox) => {
        const value = async (code: string) => {
          const run = await sandbox.execute(code);
          return text(run) ?? run.error?.traceback;
        };
        expect(await value("llm_query('a')")).toBe("'default: a'");
        expect(await value("[llm_query(p)[-1] for p in 'ab'], f\"{llm_query('c')}\"")).toBe(
          "(['a', 'b'], 'default: c')",
        );
        expect(await value("async def ask(p): return llm_query(p)\nlen(await ask('d'))")).toBe(
          "10",
        );
        const plain = await sandbox.execute("\ndef ask(p): return llm_query(p)\nask('a')");
        if (!waitsByAwait) {
          expect(text(plain)).toBe("'default: a'");
          return;
        }
        expect(plain.error?.message).toContain(
          "Make the function `async def`, write `await llm_query(",
        );
        const used = await sandbox.execute("import asyncio\nawait asyncio.sleep(0)\nlen(ask('a'))");
        expect(used.error?.message).toContain("await llm_query(");
        expect(await value("%time llm_query('e')")).toBe("'default: e'");
        expect(await value("%%time\nx = llm_query('f')\nx")).toBe("'default: f'");
        await sandbox.execute("def llm_query(prompt): return ['mine', prompt]");
        expect(await value("llm_query('a')")).toBe("['mine', 'a']");
      }),
    );

    check("batches run side by side up to the limit, with the answers in order", () => {
      let running = 0;
      let most = 0;
      const onLLMQuery: LLMQuery = async (prompt) => {
        running += 1;
        most = Math.max(most, running);
        await sleep(10 + (Number(prompt) % 3) * 10);
        running -= 1;
        return `<${prompt}>`;
      };
      return withSandbox({ onLLMQuery, queryConcurrency: 5 }, async (sandbox) => {
        const code = `answers = llm_query_batched([str(i) for i in range(23)])`;
        expect((await sandbox.execute(code)).error).toBeNull();
        const wanted = "answers == ['<%d>' % i for i in range(23)]";
        expect(text(await sandbox.execute(wanted))).toBe("True");
        expect(most).toBe(5);
        expect(text(await sandbox.execute("llm_query_batched([])"))).toBe("[]");
      });
    });

    check("what the callback throws is raised with its message", () => {
      const onLLMQuery: LLMQuery = (prompt) => {
        if (prompt === "bad") throw new Error("the model is asleep");
        if (prompt === "mute") return Promise.reject(new Error(""));
        if (prompt === "odd") return 42 as unknown as string;
        return "fine";
      };
      return withSandbox({ onLLMQuery }, async (sandbox) => {
        const run = await sandbox.execute("llm_query('bad')");
        expect(run.error).toMatchObject({ message: "the model is asleep" });
        expect(run.error?.type).toContain("HostError");
        expect((await sandbox.execute("llm_query('mute')")).error?.message).toBeTruthy();
        expect((await sandbox.execute("llm_query('odd')")).error?.message).toBe(
          "onLLMQuery must give a string, not number",
        );
        const batch = "llm_query_batched(['a', 'bad', 'b'])";
        const caught = await sandbox.execute(
          `try:\n  ${batch}\nexcept HostError as error:\n  kept = [str(a) for a in error.answers]\n  print(error)\nkept`,
        );
        expect(caught.stdout).toContain("1 of 3 questions failed; number 1: the model is asleep");
        expect(text(caught)).toBe("['fine', 'the model is asleep', 'fine']");
        const placed = "llm_query_batched(['bad', 'a'], return_exceptions=True)";
        expect(text(await sandbox.execute(`[type(a).__name__ for a in ${placed}]`))).toBe(
          "['HostError', 'Answer']",
        );
      });
    });

    check("a callback that was not given is refused by name, with a hint", () =>
      withSandbox({}, async (sandbox) => {
        const cases = { llm_query: "onLLMQuery", rlm_query: "onRLMQuery" };
        for (const [name, option] of Object.entries(cases)) {
          const { error } = await sandbox.execute(`${name}('x')`);
          expect(error?.message).toContain(`${name} is not available`);
          expect(error?.hint).toContain(option);
        }
      }),
    );

    check("rlm_query gets the task and a context, by default the present one", () => {
      const asked: unknown[] = [];
      const models: unknown[] = [];
      const onRLMQuery: RLMQuery = async (task, context, { model }) => {
        asked.push([task, context]);
        if (model !== undefined) models.push([task, model]);
        return `did ${task}`;
      };
      return withSandbox({ onRLMQuery }, async (sandbox) => {
        const whole = { documents: ["one", "two"] };
        await sandbox.initialize(whole);
        expect(text(await sandbox.execute("rlm_query('a')"))).toBe("'did a'");
        await sandbox.execute("rlm_query('b', context['documents'][0])");
        await sandbox.execute(`context = {'n': 2**70}\nrlm_query('c')`);
        await sandbox.execute("rlm_query_batched(['d', 'e'], [[1.5], None])");
        expect(asked).toEqual([
          ["a", whole],
          ["b", "one"],
          ["c", { n: 2n ** 70n }],
          ["d", [1.5]],
          ["e", { n: 2n ** 70n }],
        ]);
        asked.length = 0;
        await sandbox.initialize("second");
        await sandbox.setVariable("context", { file: "is a value here" });
        await sandbox.execute("rlm_query('f')");
        expect(asked).toEqual([["f", { file: "is a value here" }]]);
        const unlike = await sandbox.execute("rlm_query_batched(['d', 'e'], ['x'])");
        expect(unlike.error?.message).toContain("one context for each task");
        const strange = await sandbox.execute("rlm_query('x', object())");
        expect(strange.error?.message).toContain("cannot be passed on");
        expect(models).toEqual([]);
        await sandbox.execute(
          "rlm_query('g', model='m')\nrlm_query_batched(['h', 'i'], model='n')",
        );
        expect(models.sort()).toEqual([
          ["g", "m"],
          ["h", "n"],
          ["i", "n"],
        ]);
        const wrong = await sandbox.execute("rlm_query('x', model=3)");
        expect(wrong.error?.message).toContain("model must be a str, not int");
      });
    });

    check("the cell's clock stands while the host works", () =>
      withSandbox(
        { timeout: 700, onLLMQuery: async () => sleep(1500, "late") },
        async (sandbox) => {
          expect(text(await sandbox.execute("llm_query('x')"))).toBe("'late'");
          const loop = await sandbox.execute(`llm_query('x')\nwhile True: pass`);
          expect(loop.status).toBe("timeout");
        },
      ),
    );

    check("a question has a time limit of its own", () =>
      withSandbox(
        { queryTimeout: 200, onLLMQuery: () => new Promise<string>(() => {}) },
        async (sandbox) => {
          const { error } = await sandbox.execute("llm_query('x')");
          expect(error?.message).toBe("llm_query took longer than 0.2 s");
        },
      ),
    );

    check("the questions of one cell hold its clock no longer than queryTotal", () =>
      withSandbox({ queryTotal: 300, onLLMQuery: async () => sleep(50, "x") }, async (sandbox) => {
        await sandbox.execute("kept = 1");
        const run = await sandbox.execute(`while True: llm_query('x')`);
        expect([run.status, run.error?.type]).toEqual(["timeout", "TimeoutError"]);
        expect(run.error?.message).toContain("queryTotal, 0.3 s");
        expect(text(await sandbox.execute("kept"))).toBe("1");
      }),
    );

    check("cancel aborts the questions under way, and the session goes on", () => {
      const aborted: string[] = [];
      let wake: () => void = () => {};
      const asked = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const onLLMQuery: LLMQuery = (prompt, { signal }) => {
        signal.addEventListener("abort", () => aborted.push(prompt));
        if (prompt === "2") wake();
        return new Promise(() => {});
      };
      return withSandbox({ onLLMQuery, queryConcurrency: 3 }, async (sandbox) => {
        await sandbox.execute("kept = 1");
        const run = sandbox.execute("llm_query_batched([str(i) for i in range(9)])");
        await asked;
        await sandbox.cancel();
        expect((await run).status).toBe("cancelled");
        expect(aborted.sort()).toEqual(["0", "1", "2"]);
        expect(text(await sandbox.execute("kept"))).toBe("1");
      });
    });

    check("a callback cannot wait for the sandbox that waits for it", async () => {
      const refused: unknown[] = [];
      const sandbox: ISandbox = await options.create({
        timeout: 10_000,
        onLLMQuery: async () => {
          for (const attempt of [sandbox.execute("1"), sandbox.getVariable("x")]) {
            await attempt.catch((error: unknown) => refused.push(error));
          }
          return "done";
        },
      });
      try {
        expect(text(await sandbox.execute("llm_query('x')"))).toBe("'done'");
        expect(refused).toMatchObject([{ code: "INVALID_INPUT" }, { code: "INVALID_INPUT" }]);
        expect(text(await sandbox.execute("6 * 7"))).toBe("42");
      } finally {
        await sandbox.destroy();
      }
    });

    check("questions from threads are answered too", () =>
      withSandbox({ onLLMQuery: echo }, async (sandbox) => {
        const run = await sandbox.execute(
          [
            "from concurrent.futures import ThreadPoolExecutor",
            "with ThreadPoolExecutor(8) as pool:",
            "    found = list(pool.map(llm_query, map(str, range(40))))",
            "found == ['default: %d' % i for i in range(40)]",
          ].join("\n"),
        );
        expect([run.error, text(run)]).toEqual([null, "True"]);
      }),
    );

    check("a question of an ended cell is refused", () =>
      withSandbox({ onLLMQuery: echo }, async (sandbox) => {
        await sandbox.execute(
          [
            "import threading, time",
            "told = []",
            "def late():",
            "    time.sleep(0.3)",
            "    try: told.append(llm_query('x'))",
            "    except HostError as error: told.append(str(error))",
            "thread = threading.Thread(target=late); thread.start()",
          ].join("\n"),
        );
        await sleep(1000);
        expect(text(await sandbox.execute("thread.join(); told[0]"))).toContain(
          "while its cell is running",
        );
      }),
    );

    check("help shows what the built-ins do", () =>
      withSandbox({}, async (sandbox) => {
        const names = ["llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched"];
        for (const name of names) {
          const { stdout } = await sandbox.execute(`help(${name})`);
          expect(stdout).toContain(`${name}(`);
          expect(stdout).toContain(">>>");
        }
        await sandbox.execute("import builtins\ndel builtins.llm_query\nllm_query_batched = 3");
        expect(text(await sandbox.execute("callable(llm_query)"))).toBe("True");
        expect((await sandbox.variables()).map(({ name }) => name)).not.toContain("llm_query");
      }),
    );

    check("a prompt beyond the frame is refused, and the session goes on", () =>
      withSandbox({ onLLMQuery: echo }, async (sandbox) => {
        const { error } = await sandbox.execute("llm_query('x' * 17_000_000)");
        expect(error?.message).toContain("too large for one message");
        const answer = await sandbox.execute(`len(llm_query('x' * 5_000_000))`);
        expect(text(answer)).toBe("5000009");
      }),
    );
  });
}
