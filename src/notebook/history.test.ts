import { describe, expect, it } from "vitest";
import { NotebookFixture, shown } from "../../test/support/notebook/notebook-fixture.js";

describe("the names of earlier cells", () => {
  const fixture = new NotebookFixture();

  it("count as the notebook does, go back with it, and are not kept with it", async () => {
    const nb = await fixture.open({ session: "history" });
    expect(shown(await nb.run("_, __, In[-1]"))).toBe("('', '', '_, __, In[-1]')");
    await nb.run("x = 5");
    const third = await nb.run("x * 2");
    expect(third.executionCount).toBe(3);
    expect(shown(await nb.run("_, _3, Out[3], In[2], _i2, _i"))).toBe(
      "(10, 10, 10, 'x = 5', 'x = 5', 'x * 2')",
    );
    await nb.run("'to be undone'");
    await nb.undo(1);
    const after = await nb.run("len(In), sorted(Out)");
    expect(shown(after)).toBe(`(${Number(after.executionCount) + 1}, [1, 3, 4])`);
    const twin = fixture.keep(await nb.fork("twin"));
    expect(shown(await twin.run("_, In[3], x"))).toBe("('', '', 5)");
    expect(shown(await nb.run("%who")).trim()).toBe("x");
    await nb.close();
    const again = await fixture.open({ session: "history" });
    const run = await again.run("_, Out, In[3], x");
    expect(shown(run)).toBe("('', {}, '', 5)");
    expect(shown(await again.run(`_${run.executionCount}[3]`))).toBe("5");
  });
});

describe("errors and values of a notebook", () => {
  const fixture = new NotebookFixture();

  it("are told in Jupyter's words", async () => {
    const nb = await fixture.open();
    const told = async (code: string) => {
      const { state, outputs } = await nb.run(code);
      const parts = outputs.map((output) =>
        output.type === "ERROR" ? [output.name, output.message] : [output.type, output.text],
      );
      return [state, ...parts];
    };
    expect(await told("assert False")).toEqual(["ERROR", ["AssertionError", ""]]);
    expect(await told("{}['x']")).toEqual(["ERROR", ["KeyError", "'x'"]]);
    expect(await told("import sys; sys.exit()")).toEqual(["ERROR", ["SystemExit", ""]]);
    expect(await told("raise KeyboardInterrupt")).toEqual(["ERROR", ["KeyboardInterrupt", ""]]);
    const broken = "class A:\n    def __repr__(self): raise ValueError('no')\nprint(1)\nA()";
    expect(await told(broken)).toEqual(["ERROR", ["TEXT", "1\n"], ["ValueError", "no"]]);
    expect(await told("{n**2 for n in range(12)}, int")).toEqual([
      "COMPLETED",
      ["TEXT", "({0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121}, int)"],
    ]);
    const long = await told("['word'] * 20");
    expect(long[1]).toEqual(["TEXT", `[${Array(20).fill("'word'").join(",\n ")}]`]);
    expect((await nb.run("np.zeros(3)")).outputs[0]).toMatchObject({
      message: "name 'np' is not defined",
      hint: "it is not imported yet: import numpy as np",
    });
    const exported = JSON.parse(await nb.exportIpynb()) as { cells: { outputs: object[] }[] };
    expect(exported.cells[0]?.outputs[0]).toMatchObject({ ename: "AssertionError", evalue: "" });
  });
});
