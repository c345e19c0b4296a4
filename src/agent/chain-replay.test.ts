import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { DaemonHome, SMALL } from "../../test/support/daemon-home.js";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { openWatched, WatchedTools } from "../../test/support/watched-tools.js";
import type { ChainLog } from "../protocol/agent/chain-report.js";
import type { AgentReplOptions } from "./agent-repl.js";
import { planAgent } from "./options.js";

const { runtime, unavailable } = await openNativeRuntime();

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
});

const open = (options: AgentReplOptions = {}) =>
  openWatched({ context: "one\ntwo\n", chainMode: "dep", ...options });

const CODE = [
  "a = tools.echo(value='x')",
  "b = tools.write(path=a, text='1')",
  "c = TOOL('read', path=a)",
  "d = grep('two')",
  "print(c)",
].join("\n");

/** As a file would give it back. */
const saved = (log: ChainLog): ChainLog => JSON.parse(JSON.stringify(log));

describe("a chain", () => {
  it("is replayed without calling a tool, and changes nothing", async () => {
    await using opened = await open();
    const { repl, watched } = opened;
    const { chainLog, chain } = await repl.turn(CODE);
    expect(chain?.mode_used).toBe("dep");
    expect(chainLog.map(({ tool }) => tool)).toEqual(["echo", "write", "read", "grep"]);
    const { made } = watched;
    const before = made.length;
    await repl.turn("a = b = c = d = None");
    expect(await repl.replayChain(CODE, saved(chainLog))).toBeUndefined();
    expect(made).toHaveLength(before);
    expect(await repl.variable("a")).toBeNull();
    expect((await repl.turn("1")).observation).toBe("1");
  });

  it("is replayed in another session, which has called nothing yet", async () => {
    await using first = await open();
    const { chainLog } = await first.repl.turn(CODE);
    await using other = await open();
    expect(await other.repl.replayChain(CODE, saved(chainLog))).toBeUndefined();
    expect(other.watched.made).toEqual([]);
  });

  it("says where it diverges, and how", async () => {
    await using opened = await open();
    const { repl } = opened;
    const { chainLog } = await repl.turn(CODE);
    const other = await repl.replayChain(
      CODE.replace("path=a, text='1'", "path=a, text='2'"),
      chainLog,
    );
    expect(other).toMatchObject({
      chain_index: 1,
      expected: { tool: "write", args: { path: "x", text: "1" }, outcome: { value: "1" } },
      got: { tool: "write", args: { path: "x", text: "2" } },
    });
    const more = await repl.replayChain(`${CODE}\npeek(1)`, chainLog);
    expect(more).toEqual({ chain_index: 4, expected: null, got: { tool: "peek", args: { n: 1 } } });
    const fewer = await repl.replayChain("a = tools.echo(value='x')", chainLog);
    expect(fewer).toMatchObject({ chain_index: 1, expected: { tool: "write" }, got: null });
    const changed = saved(chainLog).map((entry) =>
      entry.tool === "echo" ? { ...entry, outcome: { value: "y" } } : entry,
    );
    expect(await repl.replayChain(CODE, changed)).toMatchObject({
      chain_index: 1,
      got: { args: { path: "y" } },
    });
  });

  it("that failed fails again in the same place", async () => {
    await using opened = await open();
    const { repl } = opened;
    const code = "a = tools.echo(value=1)\nb = tools.fail(why='broken')\nc = tools.echo(value=b)";
    const { chainLog } = await repl.turn(code);
    expect(chainLog.at(-1)).toMatchObject({ tool: "fail", outcome: { error: {} } });
    expect(await repl.replayChain(code, chainLog)).toBeUndefined();
    const fixed = await repl.replayChain(
      code.replace("fail(why='broken')", "echo(value=2)"),
      chainLog,
    );
    expect(fixed).toMatchObject({
      chain_index: 1,
      expected: { tool: "fail" },
      got: { tool: "echo" },
    });
  });

  it("of which the log has a result only in part says so", async () => {
    await using opened = await open();
    const { repl } = opened;
    await repl.turn("long = 'x' * 200_000");
    const code = "a = tools.echo(value=long)\nb = tools.echo(value=2)";
    const { chainLog } = await repl.turn(code);
    expect(await repl.replayChain(code, chainLog)).toMatchObject({
      chain_index: 0,
      got: { missing: expect.stringContaining("only part of the result") },
    });
  });
});

it("a session of the daemon replays a chain too", async () => {
  await using home = new DaemonHome();
  await home.start();
  const watched = new WatchedTools();
  await using registry = await watched.open();
  const given = { structured: true, chainMode: "dep", tools: registry } as const;
  const { config } = planAgent(given, SMALL, false);
  await using sandbox = await home.runtime().createSandbox(config);
  const code = "a = tools.echo(value='x')\nb = tools.read(path=a)";
  const { agent } = await sandbox.execute(code);
  const log = agent?.chain_log ?? [];
  expect(log.map(({ tool }) => tool)).toEqual(["echo", "read"]);
  expect(await sandbox.replayChain(code, log)).toBeUndefined();
  const other = await sandbox.replayChain(code.replace("'x'", "'y'"), log);
  expect(other).toMatchObject({ chain_index: 0, got: { args: { value: "y" } } });
  expect(watched.made).toEqual(["echo", "read x"]);
});

describe("what cannot be replayed", () => {
  it.each([
    ["other code", "import os\nos.getpid()", /consists of tool calls/],
    ["a loop", "for n in range(2): tools.echo(value=n)", /consists of tool calls/],
    ["an answer", "a = tools.echo(value=1)\nFINAL(a)", /consists of tool calls/],
    ["no Python", "a = (", /consists of tool calls/],
  ])("is refused, and nothing runs: %s", async (_, code, why) => {
    await using opened = await open();
    await expect(opened.repl.replayChain(code, [])).rejects.toThrow(why);
    expect(opened.watched.made).toEqual([]);
    expect((await opened.repl.turn("2")).observation).toBe("2");
  });

  it("is what is no log, and any turn of a session that is not structured", async () => {
    await using opened = await open({ structured: false });
    const wrong = [{ tool: "echo" }] as unknown as ChainLog;
    await expect(opened.repl.replayChain("peek(1)", wrong)).rejects.toThrow(
      /not the log of a chain/,
    );
    await expect(opened.repl.replayChain("peek(1)", [])).rejects.toThrow(/not structured/);
  });
});
