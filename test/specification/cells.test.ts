import { afterAll, describe, expect } from "vitest";
import { shutdown } from "../../src/index.js";
import { scenario, text, withSandbox } from "./sandbox-kinds.js";

afterAll(() => shutdown());

describe("Requirement: Sandbox Lifecycle", () => {
  scenario("Initialize with context", (config) =>
    withSandbox(config, async (sandbox) => {
      await sandbox.initialize("a text\r\nof two lines");
      expect(text(await sandbox.execute("context"))).toBe("'a text\\r\\nof two lines'");
    }),
  );

  scenario("Cleanup on destroy", (config) =>
    withSandbox(config, async (sandbox) => {
      await sandbox.execute("x = bytearray(10_000_000)");
      await sandbox.destroy();
      await expect(sandbox.execute("1")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    }),
  );
});

describe("Requirement: Code Execution", () => {
  scenario("Execute returns result", (config) =>
    withSandbox(config, async (sandbox) => {
      const run = await sandbox.execute("1 + 1");
      expect(run).toMatchObject({ stdout: "", stderr: "", error: null });
      expect(run.duration).toBeGreaterThanOrEqual(0);
    }),
  );

  scenario("Stdout capture", (config) =>
    withSandbox(config, async (sandbox) => {
      expect((await sandbox.execute("print('hello')")).stdout).toBe("hello\n");
    }),
  );

  scenario("Stderr capture", (config) =>
    withSandbox(config, async (sandbox) => {
      const run = await sandbox.execute("import sys\nsys.stderr.write('careful\\n')");
      expect(run).toMatchObject({ stderr: "careful\n", error: null });
    }),
  );

  scenario("Error capture", (config) =>
    withSandbox(config, async (sandbox) => {
      const run = await sandbox.execute("print('before')\nraise ValueError('not this way')");
      expect(run.error).toMatchObject({ type: "ValueError", message: "not this way" });
      expect(run.error?.traceback).toContain("line 2");
      expect(run.stdout).toBe("before\n");
      const mute = await sandbox.execute("raise ValueError");
      expect(mute.error).toMatchObject({ type: "ValueError", message: "" });
      expect(mute.error?.traceback).toMatch(/ValueError$/);
    }),
  );
});

describe("Requirement: Timeout Handling", () => {
  scenario("Timeout exceeded", (config) =>
    withSandbox({ ...config, timeout: 500 }, async (sandbox) => {
      const run = await sandbox.execute("while True: pass");
      expect(run).toMatchObject({ status: "timeout", error: { type: "TimeoutError" } });
      expect(text(await sandbox.execute("6 * 7"))).toBe("42");
    }),
  );

  scenario("Timeout configurable", (config) =>
    withSandbox({ ...config, timeout: 700 }, async (sandbox) => {
      const { error } = await sandbox.execute("import time\nwhile True: time.sleep(0.01)");
      expect(error?.message).toContain("0.7 s");
    }),
  );
});

describe("Requirement: Output Truncation", () => {
  scenario("Output within limit", (config) =>
    withSandbox({ ...config, maxOutputLength: 100 }, async (sandbox) => {
      expect((await sandbox.execute("print('x' * 99)")).stdout).toBe(`${"x".repeat(99)}\n`);
    }),
  );

  scenario("Output exceeds limit", (config) =>
    withSandbox({ ...config, maxOutputLength: 100 }, async (sandbox) => {
      const run = await sandbox.execute("print('x' * 10_000)");
      expect(run.stdout).toMatch(/\[9,9\d\d bytes omitted\]/);
      expect(run.stdout.length).toBeLessThan(200);
      expect(run.omitted.stdout).toBeGreaterThan(9800);
    }),
  );
});

describe("Requirement: LLM Bridge Functions", () => {
  scenario("llm_query function", (config) =>
    withSandbox({ ...config, onLLMQuery: async (prompt) => `<${prompt}>` }, async (sandbox) => {
      expect(text(await sandbox.execute("await llm_query('hi')"))).toBe("'<hi>'");
    }),
  );

  scenario("rlm_query function", (config) =>
    withSandbox(
      { ...config, onRLMQuery: async (task, context) => `${task} of ${context}` },
      async (sandbox) => {
        const run = await sandbox.execute("await rlm_query('count', 'words')");
        expect(text(run)).toBe("'count of words'");
      },
    ),
  );

  scenario("rlm_query default context", (config) =>
    withSandbox(
      { ...config, onRLMQuery: async (task, context) => `${task} of ${context}` },
      async (sandbox) => {
        await sandbox.initialize("the whole");
        const run = await sandbox.execute("await rlm_query('count')");
        expect(text(run)).toBe("'count of the whole'");
      },
    ),
  );
});

describe("Requirement: Utility Functions", () => {
  scenario("chunk_text function", (config) =>
    withSandbox(config, async (sandbox) => {
      const run = await sandbox.execute("chunk_text('abcdefgh', 4, 1)");
      expect(text(run)).toBe("['abcd', 'defg', 'gh']");
      const endless = await sandbox.execute("chunk_text('abc', 2, 2)");
      expect(endless.error?.type).toBe("ValueError");
    }),
  );

  scenario("search_context function", (config) =>
    withSandbox(config, async (sandbox) => {
      await sandbox.initialize("one two three two one");
      const code =
        "found = search_context('two', 4)\n[(one['match'], one['text']) for one in found]";
      expect(text(await sandbox.execute(code))).toBe(
        "[('two', 'one two thr'), ('two', 'ree two one')]",
      );
    }),
  );
});

describe("Requirement: Variable Access", () => {
  scenario("Get existing variable", (config) =>
    withSandbox(config, async (sandbox) => {
      await sandbox.execute("x = {'n': 1, 'big': 2**80, 'list': [1.5, None, True], 'set': {1}}");
      expect(await sandbox.getVariable("x")).toEqual({
        n: 1,
        big: 2n ** 80n,
        list: [1.5, null, true],
        set: new Set([1]),
      });
    }),
  );

  scenario("Get missing variable", (config) =>
    withSandbox(config, async (sandbox) => {
      expect(await sandbox.getVariable("nowhere")).toBeUndefined();
    }),
  );
});

describe("Requirement: Stdout/Stderr Callbacks", () => {
  scenario("Stdout callback", (config) => {
    const lines: string[] = [];
    return withSandbox({ ...config, onStdout: (line) => lines.push(line) }, async (sandbox) => {
      await sandbox.execute("print('a')\nprint('b')");
      expect(lines.join("")).toBe("a\nb\n");
    });
  });

  scenario("Stderr callback", (config) => {
    const lines: string[] = [];
    return withSandbox({ ...config, onStderr: (line) => lines.push(line) }, async (sandbox) => {
      await sandbox.execute("import sys\nprint('a', file=sys.stderr)\nprint('b', file=sys.stderr)");
      expect(lines.join("")).toBe("a\nb\n");
    });
  });
});
