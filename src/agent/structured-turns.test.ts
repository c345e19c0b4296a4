import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { openWatched } from "../../test/support/watched-tools.js";

const { runtime, unavailable } = await openNativeRuntime();

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
});

const times = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

describe("calls that only read", () => {
  it("are one batch: they are under way at once", async () => {
    await using opened = await openWatched();
    const { repl, watched } = opened;
    const turn = await repl.turn(times(4, (n) => `r${n} = tools.meet(count=4)`));
    expect(turn.execution.status).toBe("ok");
    expect(turn.chain).toMatchObject({
      mode_used: "parallel_read_only",
      fallback_to_seq: false,
      waves: 1,
      steps: 4,
      wave_timeline: [{ wave_index: 0, mode_used: "parallel", tools: Array(4).fill("meet") }],
    });
    expect(watched.most).toBe(4);
    expect(await repl.variable("r3")).toBe(4);
  });

  it("are at most four at once", async () => {
    await using opened = await openWatched();
    const { repl, watched } = opened;
    const turn = await repl.turn(times(8, () => "tools.meet(count=4)"));
    expect(turn.execution.status).toBe("ok");
    expect(watched.most).toBe(4);
  });

  it("are one after the other without parallelTools, in every mode", async () => {
    for (const chainMode of ["legacy", "seq", "dep"] as const) {
      await using opened = await openWatched({ parallelTools: false, chainMode });
      const { repl, watched } = opened;
      const turn = await repl.turn(times(3, () => "tools.meet(count=1)"));
      expect(turn.execution.status).toBe("ok");
      expect(watched.most).toBe(1);
      expect(turn.chain?.mode_used).toBe(chainMode);
    }
  });

  it("are found however they are called, with those that search", async () => {
    await using opened = await openWatched({ context: "one\ntwo\n" });
    const { repl } = opened;
    const turn = await repl.turn(
      "a = TOOL('echo', value=1)\nb = CALL('echo', '{\"value\": 2}')\nc = grep('two')\nd = tool_call('echo', {'value': 3})",
    );
    expect(turn.chain).toMatchObject({ mode_used: "parallel_read_only", steps: 4 });
    expect(await repl.variable("b")).toBe("2");
    expect(turn.calls.map(({ name }) => name).sort()).toEqual(["CALL", "TOOL", "TOOL", "grep"]);
  });

  it("are logged with the place that they have in the chain", async () => {
    await using opened = await openWatched();
    const { repl, registry } = opened;
    const turn = await repl.turn("a = tools.echo(value=1)\nb = tools.echo(value=2)");
    const places = registry.log.invocations.map((one) => [one.callerType, one.chainIndex]);
    expect(places.sort()).toEqual([
      ["chain", 0],
      ["chain", 1],
    ]);
    expect(new Set(registry.log.invocations.map(({ chainId }) => chainId))).toEqual(
      new Set([turn.chain?.chain_id]),
    );
  });

  it("that fail leave what the lines before them gave", async () => {
    await using opened = await openWatched();
    const { repl } = opened;
    const turn = await repl.turn(
      "a = tools.echo(value='kept')\nb = tools.fail(why='broken')\nc = tools.echo(value='late')",
    );
    expect(turn.execution.status).toBe("error");
    expect(turn.observation).toContain("broken");
    expect(turn.observation).toContain("kept");
    expect(await repl.variable("a")).toBe("kept");
    expect(await repl.variable("c")).toBeUndefined();
  });
});

describe("a turn that must not run", () => {
  it.each([
    ["delegate", "seq", "delegate('x')\ntools.echo(value=1)", /delegate cannot be one of several/],
    ["escalate", "dep", "escalate('x')\ntools.echo(value=1)", /escalate cannot be one of several/],
    ["no chain", "seq", "tools.alone()\ntools.echo(value=1)", /alone[\s\S]*allowed_callers/],
    ["no chain", "dep", "tools.alone()\ntools.alone()", /alone[\s\S]*allowed_callers/],
    ["computed", "dep", "n = 'ec' + 'ho'\nTOOL(n, value=1)\nTOOL(n, value=2)", /TOOL\(dynamic\)/],
    ["unknown", "seq", "TOOL('ekho', value=1)\ntools.echo(value=1)", /did you mean echo/],
    ["legacy", "legacy", "tools.write(path='a', text='1')\ntools.echo(value=1)", /one tool/],
  ] as const)("is refused before the first call: %s in %s", async (_, chainMode, code, why) => {
    await using opened = await openWatched({ chainMode, onDelegate: async () => "done" });
    const { repl, watched } = opened;
    const turn = await repl.turn(code);
    expect(turn.execution.status).toBe("error");
    expect(turn.observation).toMatch(why);
    expect(watched.made).toEqual([]);
    expect((await repl.turn("tools.echo(value=5)")).observation).toBe("5");
  });

  it("is no turn with one call, whatever it calls", async () => {
    await using opened = await openWatched({ chainMode: "legacy", onDelegate: async () => "done" });
    const { repl, watched } = opened;
    for (const code of ["delegate('x')", "tools.alone()", "tools.write(path='a', text='1')"]) {
      const turn = await repl.turn(code);
      expect([turn.execution.status, turn.chain]).toEqual(["ok", undefined]);
    }
    expect(watched.made).toEqual(["alone", "write a"]);
  });

  it("is not made to run by another name, nor by wrong arguments", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl, watched } = opened;
    const own =
      "taken = []\ndef host_only(**given): taken.append(given)\ndef echo(**given): taken.append(given)";
    await repl.turn(own);
    const refused = await repl.turn("TOOL('host_only')");
    expect(refused.observation).toContain("cannot be called by a cell");
    const chained = await repl.turn("tools.echo(value=1)\ntools.host_only()");
    expect(chained.execution.status).toBe("error");
    await repl.turn("TOOL('read', nothing=1)");
    expect(await repl.variable("taken")).toEqual([]);
    expect(watched.made).not.toContain("host_only");
  });
});

describe("waves", () => {
  it("come in the order of what depends on what", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl, watched } = opened;
    const turn = await repl.turn(
      [
        "a = tools.echo(value=1)",
        "b = tools.echo(value=2)",
        "c = tools.write(path='x', text=a)",
        "d = tools.read(path='x')",
        "e = tools.echo(value=[d, {'k': b}])",
      ].join("\n"),
    );
    expect(turn.chain).toMatchObject({ mode_used: "dep", fallback_to_seq: false, waves: 4 });
    expect(turn.chain?.wave_timeline.map(({ tools }) => tools)).toEqual([
      ["echo", "echo"],
      ["write"],
      ["read"],
      ["echo"],
    ]);
    expect(watched.made).toEqual(["echo", "echo", "write x", "read x", "echo"]);
    expect(await repl.variable("e")).toEqual([1, { k: 2 }]);
  });

  it("see what was written, in state outside and in files", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl, watched } = opened;
    watched.files.set("x", "old");
    await repl.turn(
      [
        "before = tools.read(path='x')",
        "tools.write(path='x', text='new')",
        "after = tools.read(path='x')",
        "file_write_safe('f.txt', 'text')",
        "seen = peek(9, '/workspace/f.txt')",
      ].join("\n"),
    );
    const seen = await Promise.all(["before", "after", "seen"].map((name) => repl.variable(name)));
    expect(seen).toEqual(["old", "new", "text"]);
  });

  it("give a name that is bound twice both of its values, each in its place", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl } = opened;
    const turn = await repl.turn(
      "a = tools.echo(value='first')\nb = tools.echo(value=[a])\na = tools.echo(value='second')",
    );
    expect(turn.chain?.mode_used).toBe("dep");
    expect([await repl.variable("a"), await repl.variable("b")]).toEqual(["second", ["first"]]);
    expect(turn.observation).toMatch(/first[\s\S]*first[\s\S]*second/);
  });

  it("bind a name only after the steps above have read it", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl } = opened;
    await repl.turn("a = 'old'");
    const code =
      "x = tools.echo(value=1)\nb = tools.echo(value=[x, a])\na = tools.echo(value='new')";
    expect((await repl.turn(code)).chain?.mode_used).toBe("dep");
    expect([await repl.variable("a"), await repl.variable("b")]).toEqual(["new", [1, "old"]]);
  });

  it("use the value of this turn, not of the one before, deep in an argument too", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl } = opened;
    await repl.turn("a = 'of the turn before'");
    await repl.turn("a = tools.echo(value='new')\nb = tools.echo(value={'k': [a, (a,)]})");
    expect(await repl.variable("b")).toEqual({ k: ["new", ["new"]] });
  });

  it("take None for a value, and a text that looks like an error too", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl } = opened;
    const turn = await repl.turn(
      "a = tools.nothing()\nb = tools.echo(value=[a])\nc = tools.echo(value='[ERROR: not one]')\nd = tools.echo(value=c)",
    );
    expect(turn.execution.status).toBe("ok");
    expect(turn.chain).toMatchObject({ mode_used: "dep", fallback_to_seq: false });
    expect([await repl.variable("b"), await repl.variable("d")]).toEqual([
      [null],
      "[ERROR: not one]",
    ]);
  });

  it("run some with effects at once only when asked to, and where they touch different things", async () => {
    const code =
      "a = log_append('one', 'x')\nb = log_append('two', 'x')\nc = log_append('one', 'y')";
    for (const [parallelMutations, modes] of [
      [false, ["seq", "seq"]],
      [true, ["parallel", "seq"]],
    ] as const) {
      await using opened = await openWatched({ chainMode: "dep", parallelMutations });
      const { chain } = await opened.repl.turn(code);
      expect(chain?.parallel_mutations_enabled).toBe(parallelMutations);
      expect(chain?.wave_timeline.map(({ mode_used }) => mode_used)).toEqual(modes);
      const lines = await opened.repl.turn("run_shell('cat /workspace/logs/one.log')");
      expect(lines.observation.match(/[xy]$/gm)).toEqual(["x", "y"]);
    }
  });
});

describe("a turn that cannot be planned", () => {
  it.each([
    [
      "a loop",
      "for n in range(2):\n    tools.write(path='x', text=str(n))\ntools.read(path='x')",
      2,
    ],
    ["an expression", "a = tools.write(path='x', text='1')\nb = tools.echo(value=len(a + 'x'))", 1],
    ["two targets", "a = tools.write(path='x', text='1')\nb, c = tools.echo(value=[1, 2])", 1],
  ])("runs once, line by line: %s", async (_, code, writes) => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl, watched } = opened;
    const turn = await repl.turn(code);
    expect(turn.chain).toMatchObject({ mode_requested: "dep", fallback_to_seq: true });
    expect(turn.chain?.mode_used).toBe("seq");
    expect(turn.chain?.reason).toBeTruthy();
    expect(watched.made.filter((name) => name === "write x")).toHaveLength(writes);
  });

  it("is not run again when a later step fails", async () => {
    await using opened = await openWatched({ chainMode: "dep" });
    const { repl, watched } = opened;
    const turn = await repl.turn(
      "a = tools.write(path='x', text='1')\nb = tools.read(path=a['k'])\nc = tools.write(path='y', text=b)",
    );
    expect(turn.execution.error?.type).toBe("TypeError");
    expect(turn.chain).toMatchObject({ mode_used: "dep", fallback_to_seq: false });
    expect(watched.made).toEqual(["write x"]);
    expect(await repl.variable("a")).toBe("1");
  });

  it("runs in the order of its lines in seq mode", async () => {
    await using opened = await openWatched({ chainMode: "seq" });
    const { repl, watched } = opened;
    const turn = await repl.turn(
      "a = tools.write(path='x', text='1')\nb = tools.read(path='x')\nc = tools.write(path='x', text='2')",
    );
    expect(turn.chain).toMatchObject({ mode_used: "seq", fallback_to_seq: false, waves: 0 });
    expect(watched.made).toEqual(["write x", "read x", "write x"]);
  });
});

describe("the environment", () => {
  const CODE = "a = tools.write(path='x', text='1')\nb = tools.write(path='y', text='2')";

  it.each([
    ["dep", "1", "dep", true],
    ["legacy", "0", undefined, false],
    ["nonsense", "", "seq", false],
  ])("sets the mode and parallel mutations: %s, %j", async (mode, mutations, used, enabled) => {
    vi.stubEnv("ORCHESTRATOR_TOOL_CHAIN_MODE", mode);
    vi.stubEnv("ORCHESTRATOR_TOOL_CHAIN_PARALLEL_MUTATIONS", mutations);
    try {
      await using opened = await openWatched();
      const { chain, execution } = await opened.repl.turn(CODE);
      expect(execution.status).toBe(used === undefined ? "error" : "ok");
      expect(chain?.mode_used).toBe(used);
      if (chain !== undefined) expect(chain.parallel_mutations_enabled).toBe(enabled);
      await using told = await openWatched({ chainMode: "seq", parallelMutations: false });
      expect((await told.repl.turn(CODE)).chain).toMatchObject({
        mode_requested: "seq",
        parallel_mutations_enabled: false,
      });
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
