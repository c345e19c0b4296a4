import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { openWatched, WatchedTools } from "../../test/support/watched-tools.js";
import { openSandbox } from "../backends/select.js";
import { planAgent } from "./options.js";

const { runtime, unavailable } = await openNativeRuntime();
const CONFIG = { backend: "native", preload: "none" } as const;

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
});

describe("FINAL", () => {
  const calls = "a = tools.echo(value='one')\nb = tools.echo(value='two')\n";

  it.each([
    ["a comment", `# FINAL('oops')\n${calls}`],
    ["a text", `${calls}print("FINAL('oops')")`],
    ["a docstring", `'''\nFINAL("oops")\n'''\n${calls}`],
  ])("in %s ends nothing", async (_, code) => {
    await using opened = await openWatched();
    const { final, execution, chain } = await opened.repl.turn(code);
    expect([final, execution.status]).toEqual([undefined, "ok"]);
    expect(chain?.steps).toBe(2);
    expect(opened.watched.made).toEqual(["echo", "echo"]);
  });

  it.each(["seq", "dep"] as const)(
    "after calls keeps the code before it, in %s",
    async (chainMode) => {
      await using opened = await openWatched({ chainMode });
      const { final } = await opened.repl.turn(`${calls}FINAL(a + b)`);
      expect(final?.value).toBe("onetwo");
      expect(opened.watched.made).toEqual(["echo", "echo"]);
      expect(await opened.repl.variable("b")).toBe("two");
      const named = await opened.repl.turn(`c = tools.echo(value='three')\nFINAL_VAR('c')`);
      expect(named.final?.value).toBe("three");
    },
  );

  it("after calls is refused where exploration is required, and the calls are made", async () => {
    await using opened = await openWatched({
      context: "one\ntwo\n",
      requireExplorationBeforeFinal: true,
      chainMode: "dep",
    });
    const { repl, watched } = opened;
    const early = await repl.turn(`${calls}FINAL(a)`);
    expect([early.final, early.execution.error?.type]).toEqual([undefined, "ExplorationRequired"]);
    expect(watched.made).toEqual(["echo", "echo"]);
    await repl.turn("hits = grep('two')\nfirst = peek(3)");
    expect((await repl.turn("FINAL(first)")).final?.value).toBe("one");
  });

  it("is not swallowed by an except, and neither is what ends a turn", async () => {
    await using opened = await openWatched();
    const code = `${calls}try:\n    FINAL(a)\nexcept Exception:\n    pass\ntools.echo(value='after')`;
    const { final } = await opened.repl.turn(code);
    expect(final?.value).toBe("one");
    expect(opened.watched.made).toEqual(["echo", "echo"]);
    const busy = `${calls}while True:\n    try:\n        sum(range(1000))\n    except Exception:\n        pass`;
    const late = await opened.repl.turn(busy, { timeout: 500 });
    expect(late.execution.status).toBe("timeout");
  });
});

describe("limits", () => {
  it.each([
    ["seq", 1],
    ["dep", 2],
  ] as const)(
    "the limit of waiting ends a chain and its calls, in %s",
    async (chainMode, begun) => {
      // While the host works, a cell's own limit is paused.
      await using opened = await openWatched({ chainMode, config: { ...CONFIG, queryTotal: 500 } });
      const { repl, watched } = opened;
      await repl.turn("kept = 'kept'");
      const turn = await repl.turn(
        "a = tools.echo(value=1)\nb = tools.hang()\nc = tools.hang()\nd = tools.write(path='x', text='late')",
      );
      expect(turn.execution.status).toBe("timeout");
      expect(watched.made.filter((name) => name === "hang")).toHaveLength(begun);
      expect(watched.cancelled).toBe(begun);
      expect(watched.made).not.toContain("write x");
      expect(turn.execution.state.survived).toBe(true);
      expect(await repl.variable("kept")).toBe("kept");
      expect((await repl.turn("tools.echo(value=5)")).observation).toBe("5");
    },
  );

  it.each(["seq", "dep"] as const)("the time limit ends a chain, in %s", async (chainMode) => {
    await using opened = await openWatched({ chainMode });
    const { repl, watched } = opened;
    const turn = await repl.turn(
      "a = tools.echo(value=1)\nb = run_shell('sleep 60')\nc = tools.write(path='x', text=a)",
      { timeout: 500 },
    );
    expect(turn.execution.status).toBe("timeout");
    expect(watched.made).toEqual(["echo"]);
    expect((await repl.turn("tools.echo(value=5)")).observation).toBe("5");
  });

  it("a signal ends a batch and its calls", async () => {
    await using opened = await openWatched();
    const { repl, watched } = opened;
    const aborting = new AbortController();
    const code = "a = tools.hang()\nb = tools.hang()\nc = tools.hang()";
    const running = repl.turn(code, { signal: aborting.signal });
    while (watched.made.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    aborting.abort();
    const turn = await running;
    expect(turn.execution.status).toBe("cancelled");
    expect(watched.cancelled).toBe(3);
  });

  it.each([
    ["a batch", "parallel_read_only", "a = tools.echo(value=s)\nb = tools.echo(value=[s])"],
    ["waves", "dep", "a = tools.echo(value=s)\nb = tools.echo(value=a)\nprint(b)"],
  ])("secrets in results of %s are redacted", async (_, mode, code) => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl } = opened;
    await repl.turn("s = 'ghp_' + 'a1B2' * 9");
    const turn = await repl.turn(code);
    expect(turn.chain?.mode_used).toBe(mode);
    expect(turn.observation).toContain("[redacted: github-token]");
    expect(turn.observation).not.toContain("a1B2a1B2");
    expect(Object.values(turn.redacted).reduce((sum, one) => sum + one, 0)).toBeGreaterThan(0);
  });

  it("large results stay in the session, and the report on them is bounded", async () => {
    await using opened = await openWatched();
    const { repl } = opened;
    await repl.turn("many = list(range(11_000))\nlong = 'é' * 90_000\nnested = [[]] * 50_000");
    for (const [name, count] of [
      ["many", 12],
      ["nested", 6],
      ["long", 60],
    ] as const) {
      const lines = Array.from({ length: count }, (_, n) => `r${n} = tools.echo(value=${name})`);
      const turn = await repl.turn(lines.join("\n"));
      expect([name, turn.execution.status]).toEqual([name, "ok"]);
      expect(turn.chainLog).toHaveLength(count);
      expect(JSON.stringify(turn.chainLog).length).toBeLessThan(5_000_000);
      expect(turn.observation.length).toBeLessThan(10_000);
      const same = await repl.turn(`all(r == ${name} for r in [r0, r${count - 1}])`);
      expect(same.observation).toBe("True");
    }
  });

  it("characters that only look like Python are replaced before a chain is planned", async () => {
    await using opened = await openWatched();
    const turn = await opened.repl.turn("a = tools.echo(value=‘x’)\nb = tools.echo(value=2 − 1)");
    expect([turn.execution.status, turn.execution.replaced?.total]).toEqual(["ok", 3]);
    expect(opened.watched.made).toEqual(["echo", "echo"]);
  });
});

it("undo takes back what a chain has bound, and not what came before it", async () => {
  const watched = new WatchedTools();
  await using registry = await watched.open();
  const given = { structured: true, chainMode: "dep", tools: registry } as const;
  const { config } = planAgent(given, { ...CONFIG, checkpoints: "always" }, false);
  await using sandbox = await openSandbox(config, {});
  await sandbox.execute("a = 'before'");
  const ran = await sandbox.execute(
    "a = tools.echo(value='after')\nb = tools.write(path='x', text=a)\nc = tools.read(path='x')",
  );
  expect(ran.agent?.chain).toMatchObject({ mode_used: "dep", waves: 3 });
  expect(await sandbox.getVariable("c")).toBe("after");
  await sandbox.undo();
  const left = await Promise.all(["a", "b", "c"].map((name) => sandbox.getVariable(name)));
  expect(left).toEqual(["before", undefined, undefined]);
  const again = await sandbox.execute("a = tools.echo(value=a)\nb = tools.echo(value=[a])");
  expect([again.status, await sandbox.getVariable("b")]).toEqual(["ok", ["before"]]);
});
