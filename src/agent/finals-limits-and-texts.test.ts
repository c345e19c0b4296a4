import { describe, expect, it } from "vitest";
import { agents } from "../../test/support/agents.js";

const { start } = await agents();

describe("FINAL", () => {
  it("is not called by comments and texts that name it", async () => {
    const repl = await start({ config: { policy: "off" } });
    for (const code of [
      "# FINAL('oops')",
      "s = \"FINAL('oops')\"",
      "'''\nFINAL(1)\n'''",
      "FINAL",
    ]) {
      expect((await repl.turn(code)).final, code).toBeUndefined();
    }
  });

  it("comes after what stands before it, and obeys the exploration rule", async () => {
    const repl = await start({ context: "abc", requireExplorationBeforeFinal: true });
    const early = await repl.turn("x = 41\nx += 1\nprint('ran')\nFINAL(x)");
    expect(early.final).toBeUndefined();
    expect(early.observation).toContain("ran");
    expect(early.observation).toContain("1 more call of peek(), grep() or the like");
    const named = await repl.turn("FINAL_VAR('x')");
    expect(named.final).toBeUndefined();
    expect((await repl.turn("context_len()\nFINAL(x)")).final).toBeUndefined();
    expect((await repl.turn("peek(1)\nx += 1\nFINAL_VAR('x')")).final?.value).toBe(43);
  });

  it("reads the same variables with FINAL_VAR as any cell", async () => {
    const repl = await start();
    await repl.turn("found = {'a': 1}");
    expect((await repl.turn("FINAL_VAR('found')")).final?.value).toEqual({ a: 1 });
    expect((await repl.turn("FINAL_VAR('fuond')")).observation).toContain("did you mean found?");
  });

  const swallowing = [
    "try:\n    FINAL(1)\nexcept Exception:\n    pass",
    "try:\n    FINAL(1)\nexcept BaseException:\n    pass\nprint('on')",
    "try:\n    FINAL(1)\nexcept:\n    pass",
    "import threading\nt = threading.Thread(target=FINAL, args=(1,))\nt.start()\nt.join()",
    "async def f():\n    FINAL(1)\nawait f()",
    "import asyncio\nasync def f():\n    FINAL(1)\nawait asyncio.gather(f(), asyncio.sleep(0))",
    "[FINAL(1) for _ in 'ab']",
    "def g():\n    yield FINAL(1)\nlist(g())",
  ];
  it.each(swallowing)("stands in %j", async (code) => {
    const repl = await start({ config: { policy: "off" } });
    const { final, execution } = await repl.turn(code);
    expect(final?.value).toBe(1);
    expect(execution.status).toBe("ok");
    const { observation } = await repl.turn("import gc\ngc.collect()\nprint('quiet')");
    expect(observation).toBe("quiet");
  });

  it("takes no function, module or generator", async () => {
    const repl = await start({ config: { policy: "off" } });
    for (const code of ["FINAL(len)", "import math; FINAL(math)", "FINAL(x for x in 'a')"]) {
      const { final, observation } = await repl.turn(code);
      expect(final).toBeUndefined();
      expect(observation).toContain("FINAL was not accepted");
    }
  });
});

describe("a time limit", () => {
  const endless = [
    "try:\n    while True: pass\nexcept Exception:\n    pass\nprint('swallowed')",
    "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
    "import threading\ndef spin():\n    while True: pass\nt = threading.Thread(target=spin)\nt.start()\nt.join()",
  ];
  it.each(endless)("is not swallowed by %j", async (code) => {
    const repl = await start({ config: { policy: "off" } });
    const { execution, observation } = await repl.turn(code, { timeout: 700 });
    expect(execution.status).toBe("timeout");
    expect(observation).not.toContain("swallowed");
  });
});

describe("the policy", () => {
  const passed = [
    "import io\nio.open('/etc/hostname')",
    "import random\nrandom._os",
    "import dataclasses\ndataclasses.sys.modules['os']",
    "'{0.__class__}'.format(1)",
    "import operator\noperator.attrgetter('__class__.__mro__')(1)",
    "g = (i for i in 'a')\ng.gi_frame.f_back",
    "def broken(:",
  ];
  it.each(passed)("refuses %j", async (code) => {
    const repl = await start();
    const { execution, observation } = await repl.turn(code);
    expect(execution.status).toBe("error");
    expect(observation).toMatch(/PolicyViolation|SyntaxError/);
  });

  it("keeps variables and prints in order where it is restricted", async (context) => {
    const repl = await start({ config: { policy: "restricted" } }).catch((error: Error) => {
      if (!error.message.includes("RestrictionUnavailable")) throw error;
      return context.skip(error.message);
    });
    expect((await repl.turn("x = 5\nprint('first', x)")).observation).toBe("first 5");
    expect((await repl.turn("x += 1\nprint('then')\nx * 2")).observation).toBe("then\n12");
    expect((await repl.turn("().__class__")).observation).toContain("PolicyViolation");
    expect((await repl.turn("FINAL(x)")).final?.value).toBe(6);
  });

  it("is the agent's own where none is given", async () => {
    const config: object = { policy: undefined };
    const repl = await start({ config });
    expect((await repl.turn("import os")).observation).toContain("[import.os]");
  });
});

describe("texts of a cell", () => {
  it("keep their characters", async () => {
    const repl = await start();
    const { observation } = await repl.turn("print('5 × 3', 'it’s', \"a – b\")  # “so”");
    expect(observation).toBe("5 × 3 it’s a – b");
    expect((await repl.turn("x = 5 × 3\nprint(x, '×')")).observation).toMatch(/^15 ×\n\[replaced/);
  });
});

describe("the footer of a long output", () => {
  it("has calls that work as they are printed", async () => {
    const repl = await start();
    const { observation } = await repl.turn("for i in range(3000): print('a pattern', i)");
    const calls = observation.split("\n").filter((line) => /^(peek|grep)\(/.test(line));
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      const { execution } = await repl.turn(`print(${call})`);
      expect(execution.stdout).toContain("a pattern 1");
    }
  });

  it("says how much of it is missing", async () => {
    const repl = await start({ config: { maxOutputLength: 20_000 } });
    const { observation, execution } = await repl.turn("for i in range(9000): print('line', i)");
    const omitted = execution.omitted.stdout.toLocaleString("en-US");
    expect(execution.omitted.stdout).toBeGreaterThan(0);
    expect(observation).toContain(`the whole output except ${omitted} bytes`);
  });
});
