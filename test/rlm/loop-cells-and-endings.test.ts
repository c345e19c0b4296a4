import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NativeRuntime, openAIChat } from "../../src/index.js";
import { type RLMResult, scripted } from "../../src/rlm/index.js";
import { FakeServer } from "../support/rlm/fake-model-server.js";
import { fence, openFixture } from "./rlm-fixture.js";

const { ask, folder } = await openFixture();

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the cells of a loop", () => {
  it("can define a class", async () => {
    const { result } = await ask([
      fence("class A:\n    def name(self): return self.word"),
      fence("class B(A):\n    word = 'inherited'\nFINAL(B().name())"),
    ]);
    expect(result).toMatchObject({ status: "answered", answer: "inherited", turns: 2 });
  });

  it("know every exception and every type that is built in", async () => {
    const { result } = await ask([
      fence(
        [
          "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    kind = type(error)",
          "names = [StopIteration, UnicodeDecodeError, RecursionError]",
          "FINAL([kind == ZeroDivisionError, sorted(frozenset([2, 1])), len(names), complex(1).imag])",
        ].join("\n"),
      ),
    ]);
    expect(result.output).toEqual([true, [1, 2], 3, 0]);
  });

  it("keep the assignments before an exception", async () => {
    const { result, told } = await ask([
      fence("kept = 6\nkept += 1\nraise ValueError('after it')"),
      fence("FINAL(kept)"),
    ]);
    expect(told(1)).toContain("ValueError: after it");
    expect(result).toMatchObject({ output: 7, turns: 2 });
  });

  it("have functions that see the globals of now", async () => {
    const { result } = await ask([
      fence("z = 1\ndef f(): return z\nz = 99\nseen = [f()]"),
      fence("z = 100\nseen.append(f())\ndef f2(): return f() + later\nlater = 1"),
      fence("later = 2\nFINAL([*seen, f2()])"),
    ]);
    expect(result.output).toEqual([99, 100, 102]);
  });

  it("keep names that begin with an underscore", async () => {
    const { result } = await ask([fence("_x = 41\n__y = 1"), fence("FINAL(_x + __y)")]);
    expect(result).toMatchObject({ output: 42, turns: 2 });
  });

  it.each(["import sys\nkept = 1\nsys.exit(3)", "kept = 1\nraise SystemExit", "kept = 1\nexit()"])(
    "end by themselves with %j, not with the host or the session",
    async (code) => {
      const { result } = await ask([fence(code), fence("FINAL(kept + 1)")]);
      expect(result).toMatchObject({ status: "answered", output: 2, turns: 2 });
    },
  );

  it("may say what Python can, for no policy is in force", async () => {
    const { result } = await ask([
      fence("import os, sys\nopen('note', 'w').write('kept')"),
      fence("FINAL([hasattr(os, 'path'), getattr(sys, 'nope', 1), open('note').read()])"),
    ]);
    expect(result).toMatchObject({ output: [true, 1, "kept"], turns: 2 });
  });

  it("are not let to os and to the classes below object by a policy", async () => {
    const { result, told } = await ask(
      [
        fence("import os\nFINAL(os.getcwd())"),
        fence("FINAL(len(().__class__.__base__.__subclasses__()))"),
        fence("FINAL('gave up')"),
      ],
      { config: { policy: "ast" } },
    );
    expect(told(1)).toMatch(/PolicyViolation[\s\S]*\[import\.os\]/);
    expect(told(2)).toMatch(/PolicyViolation[\s\S]*__subclasses__/);
    expect(result).toMatchObject({ answer: "gave up", turns: 3 });
  });

  it("reach nothing of the host where they are let to os", async () => {
    const secret = join(folder, "secret");
    const written = join(folder, "written");
    writeFileSync(secret, "of the host");
    vi.stubEnv("CELLAR_TEST_SECRET", "of the environment");
    const look = (os: string) =>
      [
        `system = ${os}`,
        `seen = [system.path.exists(${JSON.stringify(secret)}), system.environ.get('CELLAR_TEST_SECRET')]`,
        `try: system.close(system.open(${JSON.stringify(written)}, 0o101))`,
        "except OSError as error: seen.append(type(error).__name__)",
        "found.append(seen)",
      ].join("\n");
    const subclasses =
      "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__['sys'].modules['os']";
    const { result } = await ask([
      fence(`found = []\n${look("__import__('os')")}`),
      fence(`${look(subclasses)}\nFINAL(found)`),
    ]);
    const nothing = [false, null, "FileNotFoundError"];
    expect(result.output).toEqual([nothing, nothing]);
    expect(existsSync(written)).toBe(false);
  });
});

describe("the end of a loop", () => {
  it("is not an empty answer when ready comes before the content", async () => {
    const { result, told } = await ask([
      fence("answer['ready'] = True"),
      fence("answer['content'] = str(6 * 7)"),
    ]);
    expect(told(1)).toContain("content is empty");
    expect(result).toMatchObject({ status: "answered", answer: "42", turns: 2 });
  });

  it("is not a cell that raises after ready", async () => {
    const { result, told } = await ask([
      fence("answer['content'] = 'early'\nanswer['ready'] = True\n1 / 0"),
      fence("FINAL('late')"),
    ]);
    expect(told(1)).toContain("ZeroDivisionError");
    expect(result).toMatchObject({ status: "answered", answer: "late", turns: 2 });
  });
});

describe("a fence", () => {
  it("is not cut by a line of backticks inside a string", async () => {
    const code = 'page = """\n```\nnot the end\n```\n"""\nFINAL(page.count("`"))';
    const { result } = await ask([fence(code)]);
    expect(result).toMatchObject({ status: "answered", output: 6, turns: 1 });
  });

  it.each([
    ["that is never closed", "```repl\nFINAL(6 * 7)"],
    ["that another one follows unclosed", "```repl\nx = 6\n```repl\nFINAL(x * 7)"],
    ["of python", "```python\nFINAL(6 * 7)\n```"],
    ["of py, never closed", "Now:\n```py\nFINAL(6 * 7)\n"],
    ["without a language", "```\nFINAL(6 * 7)\n```"],
  ])("%s is run", async (_, answer) => {
    expect((await ask([answer])).result).toMatchObject({ output: 42, turns: 1 });
  });

  it("that is not run is told of", async () => {
    const { told } = await ask(["```bash\nls\n```", fence("FINAL(1)")]);
    expect(told(1)).toMatch(/A fence of bash is not run[\s\S]*No code was run/);
  });
});

describe("the budget of a loop", () => {
  const price = { inputPerMillion: 1, outputPerMillion: 1 };

  it("counts what children cost, and what theirs cost, in every later turn", async () => {
    const usage = { inputTokens: 1000, outputTokens: 1000 };
    const about = (task: string) => ({
      when: ({ messages }: { messages: readonly { content: string }[] }) =>
        messages[1]?.content.includes(task) === true,
    });
    const subModel = scripted(
      [
        { text: fence("FINAL(rlm_query('second task'))"), usage, ...about("first task") },
        { text: fence("FINAL(llm_query('leaf'))"), usage, ...about("second task") },
        { text: "deep", usage, when: ({ messages }) => messages.length === 1 },
      ],
      { price },
    );
    const { result } = await ask(
      [fence("found = rlm_query('first task')"), fence("1 + 1"), fence("FINAL(found)")].map(
        (reply) => ({ text: reply, usage }),
      ),
      { subModel, price, depth: 2 },
    );
    expect(result).toMatchObject({ answer: "deep", turns: 3, usage: { calls: 6, cost: 0.012 } });
    const costs = [...result.usageByDepth].map(([depth, { cost }]) => [depth, cost]);
    expect(costs).toEqual([
      [0, 0.006],
      [1, 0.002],
      [2, 0.004],
    ]);
  });

  it("is ended by the cost of children, whatever turns come between", async () => {
    const usage = { inputTokens: 300_000, outputTokens: 0 };
    const subModel = scripted([{ text: fence("FINAL('child')"), usage }], { price });
    const turns = ["rlm_query('task', 'part')", "1", "2", "FINAL('beyond the budget')"];
    const { result } = await ask(
      turns.map((code) => ({ text: fence(code), usage })),
      { subModel, price, budget: { dollars: 1 } },
    );
    // A fourth request would cost what the others did, and that is not left.
    expect(result).toMatchObject({
      status: "out-of-budget",
      error: { budget: "dollars" },
      turns: 3,
    });
    expect(result.usage).toMatchObject({ calls: 3, cost: 0.9 });
  });

  describe("of seconds", () => {
    // The start of the first sandbox must not take them all.
    beforeEach(async () => {
      await ask([fence("FINAL(1)")]);
    });

    const over = { status: "out-of-budget", error: { budget: "seconds" }, turns: 1 };
    const begun = ({ trace }: RLMResult) => trace.filter(({ type }) => type === "code.started");

    it("stops a cell in the middle", async () => {
      const { result } = await ask([fence("n = 0\nwhile True: n += 1")], {
        budget: { seconds: 3 },
      });
      expect(result).toMatchObject(over);
      expect(begun(result)).toHaveLength(1);
    });

    it("stops a cell of a child in the middle", async () => {
      const { result } = await ask([fence("FINAL(rlm_query('count', 'x'))")], {
        subModel: scripted([fence("n = 0\nwhile True: n += 1")]),
        budget: { seconds: 4 },
      });
      expect(result).toMatchObject(over);
      expect(begun(result).map(({ depth }) => depth)).toEqual([0, 1]);
    });
  });
});

describe("what lies in a session", () => {
  it("is not copied for a cell: objects stay where they are, also those nobody can pickle", async () => {
    const keep = [
      "class Kept:",
      "    copies = 0",
      "    def __reduce_ex__(self, protocol):",
      "        Kept.copies += 1",
      "        raise TypeError('not to be copied')",
      "kept, numbers, opened = Kept(), (n for n in range(9)), open('notes', 'w+')",
      "next(numbers)",
      "opened.write('abc')",
      "places = id(kept), id(context)",
    ].join("\n");
    const look =
      "opened.seek(0)\nFINAL([places == (id(kept), id(context)), next(numbers), opened.read(), Kept.copies])";
    const { result, told } = await ask([fence(keep), fence("len(context)"), fence(look)], {
      context: "x".repeat(2_000_000),
    });
    expect(told(2)).toContain("2000000");
    expect(result.output).toEqual([true, 1, "abc", 0]);
  });

  it.each([
    ["small", 1],
    ["large", 300_000],
  ])("has %s context files as UTF-8, whatever the locale", async (size, times) => {
    vi.stubEnv("LC_ALL", "C");
    vi.stubEnv("LANG", "de_DE.ISO-8859-1");
    vi.stubEnv("PYTHONUTF8", "0");
    vi.stubEnv("PYTHONCOERCECLOCALE", "0");
    const file = join(folder, `${size}.txt`);
    writeFileSync(file, "é日😀\r\n".repeat(times));
    await using runtime = new NativeRuntime();
    await using sandbox = await runtime.createSandbox({
      preload: "none",
      poolSize: 0,
      env: { LC_ALL: "C", PYTHONUTF8: "0", PYTHONIOENCODING: "latin-1" },
    });
    await sandbox.initialize({ file });
    const code = `print(context[:3])\ncontext == 'é日😀\\r\\n' * ${times}`;
    expect(await sandbox.execute(code)).toMatchObject({
      error: null,
      stdout: "é日😀\n",
      result: { "text/plain": "True" },
    });
  });
});

describe("an empty reply", () => {
  it("of a sub-model is an empty text and no error", async () => {
    const { result } = await ask([fence("said = llm_query('x')\nFINAL([said == '', len(said)])")], {
      subModel: scripted([""]),
    });
    expect(result).toMatchObject({ status: "answered", output: [true, 0] });
  });

  it("of an endpoint is an empty text and no error", async () => {
    const message = { role: "assistant", content: null };
    const body = { choices: [{ index: 0, message, finish_reason: "stop" }] };
    await using server = await FakeServer.open({ answer: () => ({ body }) });
    const { result } = await ask([fence("FINAL(llm_query('x') == '')")], {
      subModel: openAIChat({ model: "mute", baseUrl: server.baseUrl, retries: 0 }),
    });
    expect(result).toMatchObject({ status: "answered", output: true });
  });

  it("of the loop's own model is told what is wanted", async () => {
    const { result, told } = await ask(["", fence("FINAL(1)")]);
    expect(told(1)).toContain("No code was run");
    expect(result).toMatchObject({ status: "answered", output: 1, turns: 2 });
  });
});
