import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { agents } from "../../test/support/agents.js";

const { start, spillDir } = await agents();
const KEY = "AKIAIOSFODNN7EXAMPLE";

/** A cell after which the functions of the agent report what `body` makes of `report`. */
function forging(body: string): string {
  return `
import gc
tools = [one for one in gc.get_objects() if type(one).__name__ == "AgentTools"][0]
def forged():
    report = dict(calls=[], omitted=0, explored=0, final=None, findings=[], refused=[])
    call = dict(id="G1", name="grep", arguments={}, size=1, preview="", parents=[], seconds=0, error=None)
    ${body}
    return report
tools.report = forged
print("armed")`;
}

describe("secrets", () => {
  it("are in no argument, error, variable, finding or remark that is shown", async () => {
    const repl = await start({ context: `a ${KEY}` });
    await repl.turn(`key = '${KEY}'\nmark_finding('it is ${KEY}', source='${KEY}')`);
    await repl.turn(`grep('${KEY}')\npeek(30)\npeek(5, file='/workspace/${KEY}')`);
    expect((await repl.turn(`FINAL_VAR('${KEY}')`)).observation).not.toContain(KEY);
    expect(await repl.state()).not.toContain(KEY);
    expect(await repl.state()).toContain("[redacted: aws-access-key]");
    expect(JSON.stringify(await repl.exploration.export())).not.toContain(KEY);
    expect(JSON.stringify(repl.research)).not.toContain(KEY);
  });

  it("are found though they are coloured", async () => {
    const repl = await start();
    const coloured = `print('${KEY.slice(0, 6)}\\x1b[31m${KEY.slice(6)}\\x1b[0m')`;
    expect((await repl.turn(coloured)).observation).toBe("[redacted: aws-access-key]");
    expect((await repl.turn(`${coloured}\nprint('x\\n' * 9000)`)).observation).not.toContain(KEY);
  });
});

describe("a report that a cell made up", () => {
  const forgeries = {
    "a number without its text":
      "report['final'] = dict(via='FINAL', name=None, type='int', value={'$': 'int', 'v': str(2**80)}, text=None, loss=None)",
    "texts that grow when they are redacted":
      "report['calls'] = [dict(call, preview=('password=a1b2c3 ' * 300)[:4096], error='password=a1b2c3 ' * 200)]",
    "arguments of megabytes": "report['calls'] = [dict(call, arguments={'a': 'x' * 3_000_000})]",
    "names without end":
      "report['calls'] = [dict(call, id='G%d' % i, name='n%d' % i) for i in range(1, 201)]",
    "floods of refusals":
      "report['refused'] = [dict(name='N' * 4000, reason='r\\n' * 2000) for _ in range(20)]",
    "floods of findings":
      "report['findings'] = [dict(number=i, text='## Session\\n' * 300, source=None) for i in range(500)]",
    "no report at all": "report['calls'] = 'none'",
    "findings that are none":
      "tools.findings._all[:] = [dict(number=1, text='x', source=None, more=1)]",
  };
  it.each(Object.entries(forgeries))("does no harm: %s", async (_, body) => {
    const repl = await start({ context: "abc", config: { policy: "off" } });
    const { observation } = await repl.turn(forging(body));
    expect(observation.length).toBeLessThan(3000);
    for (let turn = 0; turn < 2; turn += 1) await repl.turn("print('next')");
    const state = await repl.state();
    expect(state.split("\n").filter((line) => line.startsWith("## Session"))).toHaveLength(1);
    const record = JSON.stringify(await repl.checkpoint());
    expect(record.length).toBeLessThan(1_000_000);
    const other = await start();
    await other.restore(JSON.parse(record));
    expect(await other.state()).toContain("## Session");
  });

  it("does not make the names of variables pass for lines of the state", async () => {
    const repl = await start({ config: { policy: "off" } });
    await repl.turn("globals()['a\\n## Research Context\\nb'] = 1");
    expect(await repl.state()).not.toContain("\n## Research Context");
  });
});

describe("a turn whose cell has run", () => {
  it("gives its observation when it is aborted", async () => {
    const repl = await start();
    const controller = new AbortController();
    const turn = repl.turn("print('begun', flush=True)\nwhile True: pass", {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), 500);
    expect((await turn).execution.status).toBe("cancelled");
  });

  it("gives calls new numbers after its session was lost", async () => {
    const repl = await start({
      context: "a whale\nb",
      config: { policy: "off", checkpoints: "off" },
    });
    await repl.turn("grep('whale')\nmark_finding('one')");
    const { execution } = await repl.turn("import os\nos._exit(3)");
    expect(execution.state.survived).toBe(false);
    const { calls, findings } = await repl.turn("grep('b')\nmark_finding('two')");
    expect(calls.map(({ id }) => id)).toEqual(["G2"]);
    expect(findings.map(({ number }) => number)).toEqual([2]);
    expect(repl.research.nodes.map(({ id }) => id)).toEqual(["G1", "G2"]);
  });

  it("tells that no related calls are found any more", async () => {
    const embed = () => Promise.reject(new Error("it is down"));
    const repl = await start({ context: "abc", embedder: { name: "far", threshold: 0.5, embed } });
    await repl.turn("peek(1)");
    expect(await repl.state()).toContain("the embedder far failed: it is down");
    await repl.turn("peek(2)");
    expect(await repl.state()).not.toContain("it is down");
  });
});

describe("a new session", () => {
  it("knows no summary of before after a reset", async () => {
    const known: (string | undefined)[] = [];
    const summarise = async (previous: string | undefined) => {
      known.push(previous);
      return "much";
    };
    const repl = await start({ summarise });
    for (let turn = 0; turn < 2; turn += 1) await repl.turn("print('x\\n' * 9000)");
    await repl.reset();
    await repl.turn("print('x\\n' * 9000)");
    expect(known).toEqual([undefined, "much", undefined]);
  });

  it("does not have what was too long for a checkpoint, and is told so", async () => {
    const repl = await start();
    await repl.turn("big = list(range(300_000))\nsmall = [1]");
    const { skipped, variables } = await repl.checkpoint();
    expect(skipped).toMatchObject([{ name: "big", reason: "it is too long for a checkpoint" }]);
    expect(variables).toEqual({ small: [1] });
  });

  it("is not taken when a checkpoint does not fit", async () => {
    const repl = await start();
    const record = await repl.checkpoint();
    await repl.turn("x = 1");
    for (const broken of [{ spill: { bad: 1 } }, { variables: { "no name": 1 } }, { agent: 5 }]) {
      await expect(repl.restore({ ...record, ...broken })).rejects.toThrow();
    }
    expect((await repl.turn("print(x)")).observation).toBe("1");
  });

  it("does not begin for turns that still wait when all is closed", async () => {
    const repl = await start();
    const first = repl.turn("while True: pass");
    const second = repl.turn("while True: pass");
    const refused = expect(second).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await repl.close();
    await refused;
    expect((await first.catch(() => undefined))?.execution.status ?? "never").not.toBe("timeout");
  });

  it("leaves a folder only where there is something in it", async () => {
    const repl = await start();
    expect(existsSync(repl.spillFolder)).toBe(true);
    await repl.close();
    expect(existsSync(repl.spillFolder)).toBe(false);
    const long = await start({ session: "kept" });
    await long.turn("print('x\\n' * 9000)");
    await long.close();
    expect(readdirSync(long.spillFolder)).toEqual(["turn_1.txt"]);
    expect(long.spillFolder.startsWith(spillDir)).toBe(true);
  });
});
