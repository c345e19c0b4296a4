import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { scripted } from "../../src/rlm/index.js";
import { fence, openFixture } from "./rlm-fixture.js";

const { ask, runtime } = await openFixture();

describe("what a cell printed", () => {
  it("is shown when it ends in an expression", async () => {
    const { told } = await ask([fence("print('printed')\n6 * 7"), fence("FINAL(1)")]);
    expect(told(1)).toMatch(/printed\n42/);
  });

  it("is shown when it raises", async () => {
    const { told } = await ask([fence("print('printed')\n1 / 0"), fence("FINAL(1)")]);
    expect(told(1)).toMatch(/printed\n[\s\S]*ZeroDivisionError/);
  });

  it("is kept when it SUBMITs", async () => {
    const { result } = await ask([fence("print('printed')\nSUBMIT(n=len(context))\nprint('no')")]);
    expect(result).toMatchObject({ status: "answered", output: { n: 9 }, turns: 1 });
    const shown = result.trace.filter((event) => event.type === "code.output");
    expect(shown.map(({ observation }) => observation)).toEqual([
      expect.stringContaining("printed"),
    ]);
  });
});

describe("the time limit of a cell", () => {
  it.each([
    ["a loop without end", "n = 0\nwhile True: n += 1"],
    [
      "one that catches everything",
      "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ],
    ["one call that lasts", "import time\ntime.sleep(600)"],
  ])("ends %s, and the loop goes on", async (_, code) => {
    const { result, told } = await ask([fence("kept = 42"), fence(code), fence("FINAL(kept)")], {
      config: { timeout: 700, grace: 500 },
    });
    expect(told(2)).toContain("TimeoutError");
    expect(result).toMatchObject({ status: "answered", output: 42, turns: 3 });
  });

  it("holds in the loops below too", async () => {
    const subModel = scripted([fence("n = 0\nwhile True: n += 1"), fence("FINAL('gave up')")]);
    const { result } = await ask([fence("FINAL(rlm_query('count', 'x'))")], {
      subModel,
      config: { timeout: 700, grace: 500 },
    });
    expect(result).toMatchObject({ status: "answered", answer: "gave up", turns: 1 });
    expect(subModel.requests[1]?.messages.at(-1)?.content).toContain("TimeoutError");
  });
});

describe("prose without fences", () => {
  it.each(["x = 1", "print('hello')", "import math\nx = math.pi", "FINAL_VAR is next: x = 1"])(
    "is not run: %j",
    async (prose) => {
      const { result, told } = await ask([prose, fence("FINAL('x' in globals())")]);
      expect(told(1)).toContain("No code was run");
      expect(result).toMatchObject({ output: false, turns: 2 });
      expect(result.trace.filter(({ type }) => type === "code.started")).toHaveLength(1);
    },
  );
});

describe("a loop and those below", () => {
  it("install nothing from a network, in Pyodide either", { timeout: 120_000 }, async () => {
    const connections: unknown[] = [];
    const listen = (message: unknown) => connections.push(message);
    subscribe("undici:client:beforeConnect", listen);
    try {
      const look =
        "import importlib.util\nfound = importlib.util.find_spec('micropip') is not None";
      const subModel = scripted([{ text: fence(`${look}\nFINAL(found)`), repeat: true }]);
      const { result } = await ask(
        [fence(`${look}\nFINAL([found, rlm_query('a', 'x'), rlm_query('b', 'y')])`)],
        { subModel, config: { backend: "pyodide" } },
      );
      expect(result.output).toEqual([false, "False", "False"]);
      expect(connections).toEqual([]);
    } finally {
      unsubscribe("undici:client:beforeConnect", listen);
    }
  });

  it("cannot install by themselves", async () => {
    await using sandbox = await runtime.createSandbox({ preload: "none", timeout: 30_000 });
    const run = await sandbox.execute("%pip install surely-not-there");
    expect(run.status).toBe("error");
    const reach = await sandbox.execute(
      "import socket\nsocket.create_connection(('127.0.0.1', 80), 2)",
    );
    expect(reach.error?.type).toMatch(/Error$/);
  });
});

describe("a response with code, its invented output and an end", () => {
  const look = fence("print(context.count('a'))");
  it.each([
    ["a line of FINAL", `${look}\nIt prints 17.\nFINAL(17)`],
    ["a line of FINAL_VAR", `${fence("n = 17\nprint(n)")}\nFINAL_VAR(n)`],
    ["a fence of output", `${look}\n\`\`\`output\n17\n\`\`\`\nFINAL(17)`],
    ["a bare fence of output", `${look}\n\`\`\`\nthere are 17\n\`\`\`\n${fence("FINAL('17')")}`],
    ["FINAL in another block", `${look}\nIt prints 17.\n${fence("FINAL('17')")}`],
    ["FINAL in the same block", fence("print(context.count('a'))\nFINAL('17')")],
    ["an answer", `${look}\n${fence("answer['content'] = '17'\nanswer['ready'] = True")}`],
    ["SUBMIT", `${look}\n${fence("SUBMIT(count=17)")}`],
    ["a variable", `${look}\n${fence("n = '17'\nFINAL_VAR('n')")}`],
    ["a variable in FINAL", `${look}\n${fence("n = '17'")}\n${fence("FINAL(n)")}`],
    [
      "a variable in an answer",
      `${look}\n${fence("n = '17'\nanswer['content'] = n\nanswer['ready'] = True")}`,
    ],
  ])("does not finish by %s", async (_, response) => {
    const { result, told } = await ask([response, "FINAL(1, as I see now)"]);
    expect(told(1)).toContain("did not count");
    expect(result).toMatchObject({ status: "answered", answer: "1, as I see now", turns: 2 });
  });
});
