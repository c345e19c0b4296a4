import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { shutdown } from "../backends/shared.js";
import { AGENT_FUNCTIONS } from "../protocol/agent/functions.js";
import { AgentRepl, type AgentReplOptions } from "./agent-repl.js";

const { runtime, unavailable } = await openNativeRuntime();
const spillDir = mkdtempSync(join(tmpdir(), "cellar-spill-test-"));
const open: AgentRepl[] = [];

const TEXT = Array.from({ length: 3000 }, (_, index) =>
  index === 1234 ? "the white whale sinks the ship" : `line ${index} of a long voyage`,
).join("\n");

async function start(options: AgentReplOptions = {}): Promise<AgentRepl> {
  const config = { backend: "native", preload: "none", ...options.config } as const;
  const repl = await AgentRepl.open({ spillDir, ...options, config });
  open.push(repl);
  return repl;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((repl) => repl.close()));
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await shutdown();
  rmSync(spillDir, { recursive: true, force: true, maxRetries: 10 });
});

describe("an agent's REPL", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("explores a context and ends with an answer", async () => {
    const repl = await start({ context: TEXT });
    const first = await repl.turn("print(context_len())\nhits = grep('whale')\nhits");
    expect(first.observation).toContain(String(TEXT.length));
    expect(first.observation).toContain("1235:the white whale sinks the ship");
    expect(first.calls.map(({ id }) => id)).toEqual(["X1", "G1"]);
    const second = await repl.turn(
      "mark_finding('a whale', source='line 1235')\nFINAL(hits[0].line)",
    );
    expect(second.final).toMatchObject({ value: 1235, text: "1235", via: "FINAL", loss: null });
    expect(second.observation).toContain("[FINAL accepted]");
    expect(second.findings).toEqual([{ number: 1, text: "a whale", source: "line 1235" }]);
    const marked = () => repl.research.nodes.find(({ id }) => id === "G1")?.status;
    expect(marked()).toBe("pending");
    await repl.turn("mark_finding('it sinks', source='G1')");
    expect(marked()).toBe("analyzed");
    expect(repl.exploration.strategy).toBe("search");
    expect(await repl.exploration.export()).toMatchObject({ strategy: "search", answerTokens: 2 });
  });

  it("takes files of the host, and gives those that turns made", async () => {
    const repl = await start();
    await repl.putFile("notes.txt", "one\ntwo\n");
    const { observation } = await repl.turn("print(len(peek(file='/workspace/notes.txt')) > 0)");
    expect(observation).toContain("True");
    const { files } = await repl.listFiles();
    expect(files.map(({ path, bytes }) => [path, bytes])).toEqual([["notes.txt", 8]]);
    expect(String(await repl.getFile("/workspace/notes.txt"))).toBe("one\ntwo\n");
  });

  it("has every function of the table", async () => {
    const repl = await start({ config: { policy: "off" } });
    const names = JSON.stringify(Object.keys(AGENT_FUNCTIONS));
    const { execution } = await repl.turn(
      `[name for name in ${names} if not callable(eval(name))]`,
    );
    expect(execution.result?.["text/plain"]).toBe("[]");
  });

  it("puts a long output into a file that the printed calls look into", async () => {
    const repl = await start({ context: TEXT, session: "long" });
    const { observation, spilled } = await repl.turn(
      "for i in range(5000): print('row', i, 'needle' if i == 4321 else '')",
    );
    expect(observation.length).toBeLessThanOrEqual(1500);
    expect(spilled?.path).toBe("/spilled/turn_1.txt");
    expect(readFileSync(join(spillDir, "long", "turn_1.txt"), "utf8")).toContain("row 4321 needle");
    const [peek = "", grep = ""] = observation
      .split("\n")
      .filter((line) => /^(peek|grep)\(/.test(line));
    const again = await repl.turn(`print(${peek}[:5])\n${grep.replace("pattern", "needle")}`);
    expect(again.observation).toContain("row 0");
    expect(again.observation).toContain("4322:row 4321 needle");
    const denied = await repl.turn("print(peek(20, file='/spilled/turn_1.txt'))");
    expect(denied.observation).toContain("row 0");
  });

  it("mounts spilled outputs for reading only, and only its own", async () => {
    const repl = await start({ config: { policy: "off" } });
    const other = await start({ config: { policy: "off" } });
    await repl.turn("print('x' * 20_000)");
    const code =
      "import os\ntry: open('/spilled/y', 'w')\nexcept OSError as e: print(e.strerror)\nos.listdir('/spilled')";
    expect((await repl.turn(code)).observation).toBe("Read-only file system\n['turn_1.txt']");
    expect((await other.turn("import os; os.listdir('/spilled')")).observation).toBe("[]");
  });

  it("keeps secrets out of observations, files and the tree", async () => {
    const key = "AKIAIOSFODNN7EXAMPLE";
    const repl = await start({ context: `the key is ${key}\n`, session: "secret" });
    const { observation, redacted } = await repl.turn("print(context)");
    expect(observation).not.toContain(key);
    expect(Object.values(redacted)).toEqual([1]);
    await repl.turn("print((context + ' ') * 600)");
    expect(readFileSync(join(spillDir, "secret", "turn_2.txt"), "utf8")).not.toContain(key);
    for (let call = 0; call < 3; call += 1) await repl.turn(`peek(${30 + call})`);
    expect(await repl.state()).not.toContain(key);
    const open = await start({ context: key, redact: false });
    expect((await open.turn("print(context)")).observation).toBe(key);
  });

  it("says what was replaced, refused and lost", async () => {
    const repl = await start();
    const replaced = await repl.turn("x = 6 × 7\nprint(x)");
    expect(replaced.observation).toBe("42\n[replaced in the code: × by * in line 1]");
    const refused = await repl.turn("import subprocess\neval('1')");
    expect(refused.observation).toContain("[import.subprocess]");
    expect(refused.observation).toContain("[call.eval]");
    expect((await repl.turn("y = x")).observation).toBe("[no output]");
    const shy = await start({ context: "text", requireExplorationBeforeFinal: true });
    const early = await shy.turn("FINAL('guess')");
    expect(early.final).toBeUndefined();
    expect(early.observation).toContain("FINAL was not accepted: explore the context");
    await shy.turn("peek(4)");
    expect((await shy.turn("FINAL('read')")).final?.value).toBe("read");
  });

  it("shows structures in the form with the fewest tokens", async () => {
    const repl = await start();
    const rows = "[{'id': i, 'name': f'n{i}', 'price': i * 1.5} for i in range(20)]";
    const { observation } = await repl.turn(rows);
    expect(observation).toContain("[20]{id,name,price}:");
    const json = await start({ useToonEncoding: false });
    expect((await json.turn(rows)).observation).toContain('{"id":0,"name":"n0","price":0}');
    expect((await repl.turn("[1, 2]")).observation).toBe("[1, 2]");
  });

  it("tells its state, from three calls on with what led to what", async () => {
    const repl = await start({ context: TEXT });
    await repl.turn("x = 5\nhits = grep('whale')");
    const lines = (await repl.state()).split("\n");
    expect(lines).toEqual([
      "## Session after turn 1",
      `Context: str, ${TEXT.length.toLocaleString("en-US")} long`,
      "Variables:",
      "  x (int) = 5",
      expect.stringMatching(/^ {2}hits \(Hits\) = 1 matching line /),
    ]);
    await repl.turn("text = hits[0]\nmore = grep('sinks the ship')\npeek(50)");
    const state = await repl.state();
    expect(state).toContain("## Research Context");
    expect(state).toContain("G1: grep(pattern='whale'");
  });

  it("goes on from a checkpoint in another session", async () => {
    const repl = await start({ context: TEXT });
    await repl.turn(
      "hits = grep('whale')\nnames = ['a', 'b']\nf = lambda: 1\nmark_finding('found')",
    );
    const record = JSON.parse(JSON.stringify(await repl.checkpoint()));
    expect(record.skipped.map(({ name }: { name: string }) => name)).toContain("f");
    const other = await start({ context: TEXT });
    expect(await other.restore(record)).toEqual([]);
    const turn = await other.turn("print(names, list_findings())\npeek(10)\ngrep('ship')");
    expect(turn.observation).toContain("['a', 'b'] 1. found");
    expect(turn.calls.map(({ id }) => id)).toEqual(["P1", "G2"]);
    expect(await other.restore({ ...record, variables: { grep: 1 } })).toEqual(["grep"]);
    await expect(other.restore({ version: 99 })).rejects.toThrow(/version 99/);
    await expect(other.restore({})).rejects.toThrow(/not a checkpoint/);
  });

  it("tells answers that were written before any output was seen", async () => {
    const repl = await start({ context: TEXT });
    const isLiteral = async (code: string, continues?: boolean) =>
      (await repl.turn(code, { continues })).isLiteralAnswer;
    expect(await isLiteral("print(grep('whale'))\nFINAL('two')")).toBe(true);
    expect(await isLiteral("n = 2\nprint(n)")).toBe(false);
    expect(await isLiteral("FINAL(n)", true)).toBe(true);
    expect(await isLiteral("FINAL(n)")).toBe(false);
    expect(await isLiteral("answer = {'content': 'two', 'ready': True}")).toBe(true);
  });

  it("still has the files of long outputs after going back", async () => {
    const repl = await start();
    const record = await repl.checkpoint();
    const { spilled } = await repl.turn("print('long line\\n' * 2000)");
    await repl.restore(record);
    const { observation } = await repl.turn(`print(peek(9, file="${spilled?.path}"))`);
    expect(observation).toBe("long line");
  });

  it("refuses a folder for long outputs that cannot be made", async () => {
    await expect(start({ spillDir: "/proc/none/such" })).rejects.toMatchObject({
      code: "IO_ERROR",
    });
  });

  it("forgets with reset, and is over with close", async () => {
    const repl = await start({ context: TEXT });
    await repl.turn("x = 1\npeek(5)");
    await repl.reset();
    const { observation, calls } = await repl.turn("print('x' in SHOW_VARS())\npeek(6)");
    expect(observation).toContain("False");
    expect(calls[0]?.id).toBe("P1");
    await repl.close();
    await expect(repl.turn("1")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });

  it("asks models through the host", async () => {
    const repl = await start({
      config: { onLLMQuery: async (prompt) => `seen ${prompt.length}` },
    });
    const { observation, calls } = await repl.turn(
      "print(llm_call('abc'), llm_batch(['a', 'bb']))",
    );
    expect(observation).toBe("seen 3 ['seen 1', 'seen 2']");
    expect(calls.map(({ id }) => id)).toEqual(["L1", "B1"]);
    expect(repl.exploration.strategy).toBe("delegated");
  });
});

describe("an agent's REPL in Pyodide", () => {
  it("has the same functions, and spilled outputs in a folder of its own", async (context) => {
    const repl = await AgentRepl.open({
      context: TEXT,
      spillDir,
      config: { backend: "pyodide", minIsolation: "L0", spares: 0 },
    }).catch((error: Error) => context.skip(error.message));
    open.push(repl);
    const { observation } = await repl.turn("grep('whale')");
    expect(observation).toContain("the white whale sinks the ship");
    const { spilled } = await repl.turn("print('long line\\n' * 2000)");
    const again = await repl.turn(`peek(9, file="${spilled?.path}")`);
    expect(again.observation).toContain("long line");
    const record = await repl.checkpoint();
    const done = await repl.turn("FINAL('done')");
    expect([done.final?.value, done.isLiteralAnswer]).toEqual(["done", true]);
    await repl.restore(record);
    expect((await repl.turn("grep('ship')")).calls.map(({ id }) => id)).toEqual(["G2"]);
  });
});
