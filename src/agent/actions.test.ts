import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../test/support/native-runtime.js";
import { ToolRegistry } from "../registry/registry.js";
import { AgentRepl } from "./agent-repl.js";

const { runtime, unavailable } = await openNativeRuntime();

beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
});

describe("functions that act", () => {
  const asked: string[] = [];
  let repl: AgentRepl;

  beforeAll(async () => {
    if (unavailable !== undefined) return;
    repl = await AgentRepl.open({
      context: "one\ntwo\n",
      role: "analyst",
      onApproval: ({ name, risk, arguments: given }) => {
        asked.push(`${name} ${risk} ${JSON.stringify(given)}`);
        return given.reason === "good";
      },
      onDelegate: async (task, { to }) => `${to ?? "anybody"} did: ${task}`,
      router: (task) => ({ model: task.length > 10 ? "large" : "small" }),
    });
  });

  afterAll(() => repl?.close());

  const see = async (code: string) => (await repl.turn(code)).observation;

  it("run_shell runs a command here, with its exit code, time limit and a file for long output", async () => {
    expect(await see("run_shell('echo out; echo err >&2; exit 3')")).toBe(
      "out\nerr\n[exit code 3]",
    );
    expect(await see("run_shell('sleep 60', timeout=0.2)")).toContain("time limit");
    expect(await see("kept = 5\nrun_shell('cat /workspace/none 2>&1; true')")).toContain(
      "No such file",
    );
    const long = "r = run_shell('seq 1 20000')\nprint(r.code, len(r) < 9000, r.path is not None)";
    expect(await see(long)).toContain("0 True True");
    expect(await see("len(grep('^19999$', r.path, context_lines=0))")).toContain("1");
    for (const wrong of ["run_shell('')", "run_shell(['ls'])", "run_shell('ls', timeout=121)"]) {
      expect(await see(wrong)).toMatch(/TypeError|ValueError/);
    }
  });

  it("run_shell leaves no process behind, also of a command that goes to the background", async () => {
    await see("run_shell('sleep 987 & echo started')");
    expect(
      await see("run_shell('ps ax -o args 2>/dev/null | grep -c \"[s]leep 987\" || true')"),
    ).toMatch(/^0|not found/);
  });

  it("run_python_code shares nothing with the session", async () => {
    expect(await see("run_python_code('print(sum(map(int, input().split())))', '1 2 3')")).toBe(
      "6",
    );
    expect(await see("secret = 5\nrun_python_code('secret')")).toContain("NameError");
    expect(await see("r = run_python_code('1/0')\nprint(r.error)")).toContain("ZeroDivisionError");
    expect(await see("run_python_code('x = 47°\\nprint(x)')")).toBe("47");
    expect(await see("run_python_code('while True: pass', timeout=1)")).toMatch(/time/i);
    expect(await see("run_python_code(5)")).toContain("TypeError");
    expect(
      await see("run_python_code('from __future__ import annotations\\nprint(input())', 'in')"),
    ).toBe("in");
  });

  it("benchmark_run times code in a fresh session", async () => {
    const code =
      "b = benchmark_run('sort', 'sorted(range(1000))', 5)\nprint(b.repeat, b.median_ms > 0, b.p99_ms >= b.median_ms)";
    expect(await see(code)).toContain("5 True True");
    expect(await see("benchmark_run('bad', '1/0')")).toContain("did not run to its end");
    const forged = "print('--- benchmark_run ---[1]'); raise SystemExit";
    expect(await see(`benchmark_run('bad', ${JSON.stringify(forged)})`)).toContain("its end");
  });

  it("file_write_safe keeps the old file, and stays in the workspace", async () => {
    expect(await see("file_write_safe('a/b.txt', 'old')")).toContain("/workspace/a/b.txt");
    expect(await see("file_write_safe('a/b.txt', 'new')")).toContain("the old one is");
    expect(await see("print(peek(9, '/workspace/a/b.txt'), len(list_dir('/workspace/a')))")).toBe(
      "new 2",
    );
    expect(await see("file_write_safe('../../etc/passwd', 'x')")).toContain("PermissionError");
    await see("run_shell('ln -sfn /etc /workspace/link')");
    expect(await see("file_write_safe('link/x', 'x')")).toContain("PermissionError");
    expect(await see("file_write_safe('a', 'x')")).toContain("IsADirectoryError");
    expect(await see("file_write_safe('c.txt', 5)")).toContain("TypeError");
  });

  it("file_write_safe, log_append and archive_extract write nowhere else, whatever lies in their way", async () => {
    await see(
      "run_shell('mkdir -p /tmp/out logs && ln -s /tmp/out/log logs/link.log && mkfifo logs/pipe.log')",
    );
    expect(await see("log_append('link', 'x')")).toContain("PermissionError");
    expect(await see("log_append('pipe', 'x')")).toContain("PermissionError");
    const named = `class Name(str):
    def __add__(self, other):
        return "../../tmp/out/named"
log_append(Name("plain"), "x")`;
    expect(await see(named)).toContain("/workspace/logs/plain.log");
    await see("run_shell('ln -s /tmp/out/file dangling; mkfifo pipe')");
    expect(await see("file_write_safe('dangling', 'x')")).toContain("PermissionError");
    expect(await see("file_write_safe('/proc/self/root/tmp/out/x', 'x')")).toContain(
      "PermissionError",
    );
    expect(await see("file_write_safe('pipe', 'x')")).toContain("wrote 1 bytes");
    const archive = `import io, zipfile
data = io.BytesIO()
with zipfile.ZipFile(data, "w") as made: made.writestr("a.txt", "a")
opened = archive_open(data.getvalue())`;
    expect(await see(archive)).toBe("[no output]");
    for (const to of ["/tmp/out", "../tmp/out", "link/x"]) {
      expect(await see(`archive_extract(to=${JSON.stringify(to)})`)).toContain("outside of");
    }
    expect(await see("run_shell('ls /tmp/out; rm -r logs')")).toBe("");
  });

  it("log_append adds lines to a log that stays small", async () => {
    await see("for n in range(3): log_append('steps', 'step %d' % n)");
    expect(await see("run_shell('wc -l < /workspace/logs/steps.log')")).toContain("3");
    await see("for n in range(12): log_append('big', 'x' * 200_000)");
    const size = await see("print(file_info('/workspace/logs/big.log').size < (1 << 20) + 1)");
    expect(size).toBe("True");
    for (const name of ["../x", "", "a/b", ".x"]) {
      expect(await see(`log_append(${JSON.stringify(name)}, 'x')`)).toContain("ValueError");
    }
  });

  it("delegate, escalate, route_advice and my_role ask the host", async () => {
    expect(await see("delegate('count', to='bob')")).toContain("bob did: count");
    expect(await see("delegate('count')")).toContain("anybody did: count");
    expect(await see("escalate('good')")).toContain("approved");
    expect(await see("escalate('bad')")).toContain("not approved");
    expect(asked).toEqual([
      'escalate escalation {"reason":"good"}',
      'escalate escalation {"reason":"bad"}',
    ]);
    expect(await see("route_advice('translate it all')")).toContain("large");
    expect(await see("my_role()['role']")).toContain("analyst");
  });

  it("STUCK advises, and ends nothing", async () => {
    const { observation, final } = await repl.turn(
      "grep('nothing here')\nSTUCK('no match')\nprint('on')",
    );
    expect(final).toBeUndefined();
    expect(observation).toContain("on");
    expect(await see("STUCK()")).toContain("FINAL()");
  });

  it("are nodes of the map and entries of the log, with their prefixes", async () => {
    const { calls } = await repl.turn("run_shell('true')\ndelegate('x')\nfile_write_safe('n', '')");
    expect(calls.map(({ id, name }) => [id.replace(/\d+/, ""), name])).toEqual([
      ["S", "run_shell"],
      ["L", "delegate"],
      ["X", "file_write_safe"],
    ]);
  });
});

it("a tool that calls the REPL which waits for it is refused at once", async () => {
  const nested = async () => (await repl.turn("1 + 1")).observation;
  await using repl: AgentRepl = await AgentRepl.open({ tools: { nested: { execute: nested } } });
  const { observation } = await repl.turn("nested()");
  expect(observation).toContain("is waiting for the function that calls it");
  expect((await repl.turn("2 + 2")).observation).toBe("4");
});

it("what the host does not offer is said to be missing", async () => {
  await using repl = await AgentRepl.open({});
  for (const [code, why] of [
    ["delegate('x')", "not available"],
    ["route_advice('x')", "not available"],
    ["escalate('x')", "onApproval"],
    ["list_tools()", "no tools"],
    ["tool_call('x', {})", "there is no tool 'x'"],
  ] as const) {
    expect((await repl.turn(code)).observation).toContain(why);
  }
});

it("an agent's calls of tools are logged on both sides, and a private agent reaches no network", async () => {
  await using registry = await ToolRegistry.open({
    tools: {
      lookup: { execute: ({ key }: { key: string }) => `value of ${key}` },
      fetch_it: { permissions: ["network"], execute: () => "page" },
    },
  });
  await using repl = await AgentRepl.open({ tools: registry, private: true });
  const { calls, observation } = await repl.turn(
    "tools.lookup(key='a')\nCALL('lookup', '{\"key\": \"b\"}')\ntools.fetch_it()",
  );
  expect(observation).toContain("this is private");
  expect(calls.map(({ id, name, error }) => [id, name, error === null])).toEqual([
    ["T1", "TOOL", true],
    ["C1", "CALL", true],
    ["T2", "TOOL", false],
  ]);
  expect(registry.log.invocations.map(({ tool, outcome }) => [tool, outcome])).toEqual([
    ["lookup", "ok"],
    ["lookup", "ok"],
    ["fetch_it", "NOT_PERMITTED"],
  ]);
});

it("hostile code has few fresh sessions at once, and an answer for always holds for an agent", async () => {
  let asked = 0;
  await using repl = await AgentRepl.open({
    config: { policy: "off" },
    onApproval: () => {
      asked += 1;
      return { approved: true, always: true };
    },
  });
  const { observation } = await repl.turn(`escalate("one"); escalate("two")
toolbox = next(c.cell_contents for c in tool_call.__closure__ if hasattr(c.cell_contents, "_bridge"))
code = "import time; began = time.time(); time.sleep(0.3); print(began, time.time())"
answers = toolbox._bridge.ask("run_fresh_python", [{"code": code, "stdin": "", "seconds": 20}] * 10)
spans = [tuple(map(float, one["value"]["text"].split())) for one in answers]
print(len(spans), max(sum(a <= begin < b for a, b in spans) for begin, _ in spans))`);
  expect(observation).toMatch(/^10 [1-4]$/);
  expect(asked).toBe(1);
});
