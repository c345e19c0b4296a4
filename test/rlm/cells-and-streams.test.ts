import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ISandbox, REPLConfig } from "../../src/index.js";
import { scripted } from "../../src/rlm/index.js";
import { openSandbox } from "../specification/sandbox-kinds.js";
import { fence, openFixture, text } from "./rlm-fixture.js";

const { ask, runtime } = await openFixture();

async function withSandbox(config: REPLConfig, body: (sandbox: ISandbox) => Promise<void>) {
  await using sandbox = await runtime.createSandbox({
    preload: "none",
    timeout: 20_000,
    grace: 500,
    ...config,
  });
  await body(sandbox);
}

describe("a cell", () => {
  it("is told when chunk_text would never end", () =>
    withSandbox({}, async (sandbox) => {
      for (const overlap of [4, 5, 400]) {
        const { error } = await sandbox.execute(`chunk_text('abcdefgh', 4, ${overlap})`);
        expect([overlap, error?.type]).toEqual([overlap, "ValueError"]);
      }
      expect(text(await sandbox.execute("chunk_text('abcdef', 4, 3)"))).toBe(
        "['abcd', 'bcde', 'cdef']",
      );
    }));

  it("prints by os.write and subprocesses what is output and no message", () =>
    withSandbox({}, async (sandbox) => {
      const forged = '{"jsonrpc": "2.0", "id": 1, "result": {"forged": true}}';
      const run = await sandbox.execute(
        [
          "import os, subprocess, sys",
          `forged = ${JSON.stringify(forged)}`,
          "os.write(1, (forged + '\\n').encode())",
          "subprocess.run([sys.executable, '-c', 'print(%r)' % forged])",
          "print('printed')",
        ].join("\n"),
      );
      expect(run).toMatchObject({ status: "ok", stdout: `${forged}\n${forged}\nprinted\n` });
      expect(await sandbox.getVariable("forged")).toBe(forged);
    }));

  it("that writes to stderr has not failed", () =>
    withSandbox({}, async (sandbox) => {
      const run = await sandbox.execute(
        "import sys, warnings\nprint('Error: not really', file=sys.stderr)\nwarnings.warn('careful')\n6 * 7",
      );
      expect(run).toMatchObject({ status: "ok", error: null });
      expect(run.stderr).toMatch(/^Error: not really\n[\s\S]*careful/);
      expect(text(run)).toBe("42");
    }));

  it("gives and takes NaN and what is infinite", async () => {
    const unlike = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    await withSandbox({}, async (sandbox) => {
      await sandbox.execute("x = [float('nan'), float('inf'), float('-inf')]");
      expect(await sandbox.getVariable("x")).toEqual(unlike);
      await sandbox.setVariable("y", unlike);
      expect(text(await sandbox.execute("str(y) == str(x), y"))).toBe("(True, [nan, inf, -inf])");
    });
    const { result } = await ask([fence("FINAL([float('nan'), float('inf'), -float('inf')])")]);
    expect(result).toMatchObject({ status: "answered", output: unlike });
  });

  it("that calls sys.exit ends, and the session goes on", () =>
    withSandbox({}, async (sandbox) => {
      await sandbox.execute("kept = 1");
      const run = await sandbox.execute("import sys\nprint('before')\nsys.exit(3)");
      expect(run).toMatchObject({ exitCode: 3, stdout: "before\n", state: { survived: true } });
      expect(text(await sandbox.execute("kept"))).toBe("1");
    }));

  it("may print no more than maxOutputLength", () =>
    withSandbox({ maxOutputLength: 1000 }, async (sandbox) => {
      const code = "import os\nfor i in range(5000): print('x' * 100)\nos.write(1, b'y' * 100_000)";
      const run = await sandbox.execute(code);
      expect(run.stdout.length).toBeLessThan(1200);
      expect(run.stdout).toMatch(/\[[\d,]+ bytes omitted\]/);
      expect(run.omitted.stdout).toBeGreaterThan(600_000);
      expect((await sandbox.execute("print('short')")).stdout).toBe("short\n");
    }));

  it("of Pyodide that raises keeps what it printed", async () => {
    await using sandbox = await openSandbox({ backend: "pyodide" });
    const run = await sandbox.execute("print('before', 1)\nkept = 2\nraise ValueError('after')");
    expect(run).toMatchObject({ status: "error", stdout: "before 1\n" });
    expect(run.error).toMatchObject({ type: "ValueError", message: "after" });
    expect(text(await sandbox.execute("kept"))).toBe("2");
  });
});

describe("UTF-8 that comes in pieces", () => {
  const wide = "é日😀";

  it("is whole in what is printed", async () => {
    const heard: string[] = [];
    await withSandbox({ onStdout: (piece) => heard.push(piece) }, async (sandbox) => {
      const code = `import os, time\nfor byte in '${wide}'.encode():\n    os.write(1, bytes([byte]))\n    time.sleep(0.15)`;
      expect((await sandbox.execute(code)).stdout).toBe(wide);
      expect(heard.join("")).toBe(wide);
    });
  });

  it("is whole in variables, prompts and answers of any length", async () => {
    // One byte in front shifts every character against the pieces that sockets give.
    const long = `a${wide.repeat(60_000)}`;
    const asked: string[] = [];
    const onLLMQuery = (prompt: string) => {
      asked.push(prompt);
      return prompt;
    };
    await withSandbox({ onLLMQuery }, async (sandbox) => {
      await sandbox.setVariable("long", long);
      const run = await sandbox.execute(
        `back = llm_query(long)\nback == long == 'a' + '${wide}' * 60_000`,
      );
      expect([run.error, text(run)]).toEqual([null, "True"]);
      expect(asked[0] === long).toBe(true);
      expect((await sandbox.getVariable("back")) === long).toBe(true);
    });
  });
});

describe("a session", () => {
  it.each([
    ["that can be interrupted", "while True: pass"],
    [
      "that catches everything",
      "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ],
  ])("is alive after the timeout of a cell %s", (_, code) =>
    withSandbox({ timeout: 700 }, async (sandbox) => {
      await sandbox.execute("kept = 1");
      for (let round = 0; round < 2; round += 1) {
        expect((await sandbox.execute(code)).status).toBe("timeout");
        expect(text(await sandbox.execute("kept"))).toBe("1");
      }
    }),
  );

  it("whose process dies leaves nobody waiting", async () => {
    let aborted: () => void = () => {};
    const isAborted = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    await withSandbox(
      {
        onLLMQuery: (_, { signal }) => {
          signal.addEventListener("abort", aborted);
          return new Promise<string>(() => {});
        },
      },
      async (sandbox) => {
        const died = sandbox.execute("import os\nos.kill(os.getpid(), 9)");
        const waiting = [sandbox.execute("6 * 7"), sandbox.getVariable("x")];
        expect((await died).status).toBe("crashed");
        expect(await Promise.all(waiting)).toMatchObject([{ status: "ok" }, undefined]);
        const asking = await sandbox.execute(
          "import os, threading\nthreading.Timer(0.3, os._exit, (1,)).start()\nllm_query('x')",
        );
        expect(asking.status).toBe("crashed");
        await isAborted;
        expect(text(await sandbox.execute("6 * 7"))).toBe("42");
      },
    );
  });

  it("of a pool has its own state, and its questions reach its own host", async () => {
    const names = ["first", "second", "third", "fourth"];
    const sandboxes = await Promise.all(
      names.map((name) =>
        runtime.createSandbox({
          preload: "none",
          poolSize: 2,
          onLLMQuery: async (prompt) => sleep(20, `${name} heard ${prompt}`),
          onRLMQuery: (task, context) => `${name} did ${task} with ${context}`,
        }),
      ),
    );
    try {
      await Promise.all(sandboxes.map((sandbox, index) => sandbox.initialize(`c${index}`)));
      const code = "said = [llm_query('q'), *llm_query_batched(['r']), rlm_query('t')]";
      await Promise.all(sandboxes.map((sandbox) => sandbox.execute(code)));
      const said = await Promise.all(sandboxes.map((sandbox) => sandbox.getVariable("said")));
      expect(said).toEqual(
        names.map((name, index) => [
          `${name} heard q`,
          `${name} heard r`,
          `${name} did t with c${index}`,
        ]),
      );
    } finally {
      await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
    }
  });
});

describe("FINAL", () => {
  it.each([
    "f(x) = 3 for x > 0 (and g(y) = 4)",
    "the set {(1, 2), (3, 4)}: it's (all)",
    "two lines (\nof text)",
  ])("in prose gives %j whole", async (answer) => {
    const { result } = await ask([`So it is:\nFINAL(${answer})`]);
    expect(result).toMatchObject({ status: "answered", answer, turns: 1 });
  });

  it("is not what a sentence says about it", async () => {
    const { result, told } = await ask([
      "I will end with FINAL(the count) later, or `FINAL(x)`.",
      fence("FINAL(6 * 7)"),
    ]);
    expect(told(1)).toContain("No code was run");
    expect(result).toMatchObject({ output: 42, turns: 2 });
  });

  it("is not what comments and texts in code say", async () => {
    const { result } = await ask([
      fence("# FINAL(oops)\nnote = 'FINAL(oops)'\nlonger = '''\nFINAL(oops)\n'''"),
      fence("def FINAL_later(x): return x\nFINAL_later('oops')"),
      "```text\nFINAL(oops)\n```",
      fence("FINAL(note)"),
    ]);
    expect(result).toMatchObject({ answer: "FINAL(oops)", turns: 4 });
  });
});

describe("a response", () => {
  it("with CRLF has its fences run", async () => {
    const { result } = await ask([
      "Look:\r\n```repl\r\nx = 6\r\nif x:\r\n    x *= 7\r\n```\r\nthen\r\n```python\r\nFINAL([x, '''a\r\nb'''])\r\n```\r\n",
    ]);
    expect(result).toMatchObject({ output: [42, "a\nb"], turns: 1 });
  });
});

describe("a context", () => {
  it.each([
    ["small", 1],
    ["large", 60_000],
  ])("that is %s keeps its backslashes and quotes", async (_, times) => {
    const context = 'C:\\new\\table\\x41 \\\\host \\" \'\'\'""" {x} \\\n'.repeat(times);
    await withSandbox({}, async (sandbox) => {
      await sandbox.initialize(context);
      expect((await sandbox.getVariable("context")) === context).toBe(true);
      expect(text(await sandbox.execute("len(context), context.count(chr(92))"))).toBe(
        `(${context.length}, ${7 * times})`,
      );
    });
  });
});

describe("a loop", () => {
  it("shows its model all turns, not the last alone", async () => {
    const { model } = await ask([
      fence("print('out' + 'put one')  # code one"),
      fence("print('out' + 'put two')  # code two"),
      fence("print('out' + 'put three')  # code three"),
      "FINAL(all seen)",
    ]);
    const { messages = [] } = model.requests[3] ?? {};
    expect(messages.map(({ role }) => role).join(" ")).toBe(
      "system user assistant user assistant user assistant user",
    );
    const said = messages.map(({ content }) => content);
    expect(said[1]).toContain("What is it?");
    for (const [index, word] of ["one", "two", "three"].entries()) {
      expect(said[2 + 2 * index]).toContain(`# code ${word}`);
      expect(said[3 + 2 * index]).toContain(`output ${word}`);
    }
  });

  it("does not count the wait for a sub-call toward the time of its cell", async () => {
    const subModel = scripted([{ text: "late", delay: 2500, repeat: true }]);
    const { result } = await ask([fence("FINAL([llm_query('x'), *llm_query_batched(['y'])])")], {
      subModel,
      config: { timeout: 1000 },
    });
    expect(result).toMatchObject({ status: "answered", output: ["late", "late"], turns: 1 });
  });
});
