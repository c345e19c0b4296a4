import { describe, expect, it } from "vitest";
import { agents } from "../../test/support/agents.js";
import type { CodeExecution } from "../backends/backend.js";
import { createSandbox } from "../backends/create-sandbox.js";

const { start } = await agents();
const TEXT = "first line\nthe white whale\nlast line";
const LONG = `${"some words of a long voyage\n".repeat(400_000)}the white whale\n`;
const text = ({ result, error }: CodeExecution) => result?.["text/plain"] ?? error?.traceback;

describe("names that the host gave", () => {
  it("are put back before the next cell, however they were taken, and the model is told", async () => {
    const repl = await start({
      context: TEXT,
      config: { policy: "off", onLLMQuery: async (prompt) => prompt.toUpperCase() },
    });
    const value = async (code: string) => text((await repl.turn(code)).execution);
    const taken = await repl.turn(
      [
        "context = context[:3]",
        "grep = 'mine'",
        "def peek(n=1): return 'my own'",
        "import os as llm_query",
        "for rlm_query in range(2): pass",
        "def take():\n  global FINAL, SHOW_VARS\n  FINAL = SHOW_VARS = 3",
        "take()",
        "exec('rlm_query_batched = 5', globals())",
        "context, grep, peek(), rlm_query",
      ].join("\n"),
    );
    expect(text(taken.execution)).toBe("('fir', 'mine', 'my own', 1)");
    expect(taken.observation).toMatch(
      /\n\[put back for the next cell: context \(yours is now my_context\),[^\n]* and 3 more; [^\n]*\]$/,
    );
    expect(taken.execution.agent?.put_back).toContainEqual({ name: "context", kept: "my_context" });
    expect(await value("context, llm_query('a'), len(grep('whale')), peek(5)")).toBe(
      `('${TEXT.replaceAll("\n", "\\n")}', 'A', 1, 'first')`,
    );
    expect(await value("callable(rlm_query), callable(rlm_query_batched), callable(FINAL)")).toBe(
      "(True, True, True)",
    );
    expect(await value("my_context, my_grep, my_peek(), my_FINAL")).toBe(
      "('fir', 'mine', 'my own', 3)",
    );
    expect(await repl.state()).not.toMatch(/^ {2}(grep|peek|llm_query|FINAL) /m);
    expect(await repl.state()).toContain(`Context: str, ${TEXT.length} long`);

    const deleted = await repl.turn("del context");
    expect(deleted.observation).toMatch(/\[put back for the next cell: context; /);
    expect((await repl.turn("len(context)")).observation).toBe(String(TEXT.length));
    await repl.turn("my_context = 'built on it'\ncontext = 'again'");
    expect(await value("my_context, my_context_2, len(context)")).toBe(
      `('built on it', 'again', ${TEXT.length})`,
    );
    await repl.turn("context = 'newer'");
    expect(await value("my_context_2")).toBe("'newer'");
    const same = await repl.turn("context = context\nfrom builtins import grep\ngrep('x')");
    expect(same.observation).not.toContain("put back");
  });

  it("survive a cleared namespace and changed built-ins, and objects that cannot be compared", async () => {
    const repl = await start({ context: TEXT, config: { policy: "off" } });
    const whole = async () =>
      text((await repl.turn("len(context), len(grep('whale')), callable(SHOW_VARS)")).execution);
    for (const code of [
      "globals().clear()",
      "import builtins\ndel builtins.grep, builtins.SHOW_VARS\nbuiltins.context = 1",
      "import builtins\nbuiltins.grep = 'x'\nbuiltins.FINAL = None",
      "import threading\ndef late():\n  import time; time.sleep(0.05)\n  global context, grep\n  context = grep = 0\nthreading.Thread(target=late).start()",
      "class Key(str):\n  __hash__ = str.__hash__\n  def __eq__(self, other): 1 / 0\nglobals()[Key('SHOW_VARS')] = 1\nglobals()[Key('grep')] = 1",
    ]) {
      expect((await repl.turn(code)).execution.error).toBeNull();
      if (code.includes("Key(")) {
        await repl.turn(
          "for key in [k for k in globals() if type(k) is not str]: del globals()[key]",
        );
      }
      if (code.includes("late")) await new Promise((resolve) => setTimeout(resolve, 300));
      expect([code, await whole()]).toEqual([code, `(${TEXT.length}, 1, True)`]);
    }
  });

  it("stay the model's where the host gave nothing, and everybody's in a plain sandbox", async () => {
    const repl = await start();
    await repl.turn("context = 'my notes about a whale'");
    expect(text((await repl.turn("len(grep('whale'))")).execution)).toBe("1");
    await using plain = await createSandbox({ backend: "native", preload: "none" });
    await plain.initialize(TEXT);
    await plain.execute("context = 3\nllm_query = 4\nsearch_context = 5");
    expect(text(await plain.execute("context, llm_query, search_context"))).toBe("(3, 4, 5)");
  });

  it("come back in forks and after undo, with a long context that sessions share", async () => {
    await using sandbox = await createSandbox({
      backend: "native",
      preload: "none",
      checkpoints: "always",
      agent: { maxGrepResults: 5, requireExplorationBeforeFinal: false, minExplorationCalls: 0 },
    });
    await sandbox.initialize(LONG);
    const look =
      "len(context), len(grep('white whale')), sorted(n for n in globals() if n[0] != '_')";
    await sandbox.execute("kept = 1");
    await sandbox.execute("context = context[:5]\nkept = 2");
    expect(text(await sandbox.execute(look))).toBe(
      `(${LONG.length}, 1, ['context', 'kept', 'my_context'])`,
    );
    const twin = await sandbox.fork();
    expect(text(await twin.execute("del context, my_context"))).toBeUndefined();
    expect(text(await twin.execute(look))).toBe(`(${LONG.length}, 1, ['context', 'kept'])`);
    await twin.destroy();
    await sandbox.undo(2);
    expect(text(await sandbox.execute(look))).toBe(`(${LONG.length}, 1, ['context', 'kept'])`);
  });
});
