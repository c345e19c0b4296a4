import { describe, expect, it } from "vitest";
import { NotebookFixture, shown } from "../../test/support/notebook/notebook-fixture.js";
import { isCellarError } from "../errors.js";
import type { CellEvent } from "./run/events.js";

describe("cells of a notebook", () => {
  const fixture = new NotebookFixture();

  it("are added, run, run again, shown and deleted", async () => {
    const nb = await fixture.open();
    const idle = await nb.add("x = 1");
    expect(idle).toMatchObject({ index: 0, number: null, state: "IDLE", outputs: [] });
    const ran = await nb.run(idle);
    expect(ran).toMatchObject({
      id: idle.id,
      index: 0,
      number: 1,
      state: "COMPLETED",
      executionCount: 1,
    });
    expect(ran.executedAt).not.toBeNull();
    expect(ran.duration).toBeGreaterThan(0);
    const second = await nb.run("x += 1\nprint('now')\nx");
    expect(second).toMatchObject({ index: 1, number: 2, state: "COMPLETED", executionCount: 2 });
    expect(second.outputs).toEqual([
      { type: "TEXT", stream: "stdout", text: "now\n" },
      { type: "TEXT", stream: "result", text: "2" },
    ]);
    expect(await nb.rerun(2)).toMatchObject({ id: second.id, number: 3 });
    expect(() => nb.show(2)).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
    expect(shown(nb.show(3))).toBe("now\n3");
    expect(nb.show(second.id).number).toBe(3);
    await nb.delete(1);
    expect(nb.cells.map(({ id, index, number }) => [id, index, number])).toEqual([
      [second.id, 0, 3],
    ]);
    expect(shown(await nb.run("x"))).toBe("3");
  });

  it("end in the state that the code deserves, and keep what was printed before", async () => {
    const nb = await fixture.open({ limits: { memoryMb: 200 } });
    await nb.run("kept = 1");
    const cases = [
      ["print('seen'); 1 / 0", "ERROR", "ZeroDivisionError"],
      ["def broken(:", "ERROR", "SyntaxError"],
      ["print('seen')\nwhile True: pass", "TIMEOUT", "TimeoutError"],
      ["print('seen', flush=True)\nimport os; os._exit(3)", "CRASHED", "Crashed"],
      ["print('seen')\nx = bytearray(10**9)", "OOM", "MemoryError"],
    ] as const;
    for (const [code, state, name] of cases) {
      const cell = await nb.run(code, { timeout: 1_000 });
      expect(cell).toMatchObject({ state, number: cell.index + 1 });
      expect(cell.outputs.at(-1)).toMatchObject({ type: "ERROR", name });
      if (code.startsWith("print")) expect(cell.outputs[0]).toMatchObject({ text: "seen\n" });
    }
    expect(shown(await nb.run("kept"))).toBe("1");
  });

  it("name the cells whose effects a crash took", async () => {
    const nb = await fixture.open({ checkpoints: "off" });
    await nb.run("x = 1");
    await nb.run("y = 1");
    const crash = await nb.run("import os; os._exit(1)");
    expect(crash.notes?.join()).toContain("without the effects of cells 1, 2");
  });

  it("keep what sys.exit was called with", async () => {
    const nb = await fixture.open();
    expect((await nb.run("import sys; sys.exit(3)")).exitCode).toBe(3);
    expect(await nb.run("1")).not.toHaveProperty("exitCode");
  });

  it("show nothing of an earlier run when a later one crashes", async () => {
    const nb = await fixture.open();
    await nb.run("import os\nn = 0");
    const cell = await nb.run("n += 1\nprint('run', n)\nif n > 1: os._exit(1)");
    expect(shown(cell)).toBe("run 1\n");
    const again = await nb.rerun(cell);
    expect(again.state).toBe("CRASHED");
    expect(shown(again)).not.toContain("run 1");
    expect(again.notes).toContain("what this cell did to the variables was undone");
  });

  it("have warnings as text and not as errors", async () => {
    const nb = await fixture.open();
    const cell = await nb.run("import warnings\nwarnings.warn('careful')");
    expect(cell.state).toBe("COMPLETED");
    expect(cell.outputs).toMatchObject([{ type: "TEXT", stream: "stderr" }]);
  });

  it("keep bytes apart, and name them by the place of the cell", async () => {
    const nb = await fixture.open();
    await nb.run("1");
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const code = `import base64\nclass Dot:\n  def _repr_png_(self): return base64.b64decode('${png}')\nDot()`;
    const cell = await nb.run(code);
    expect(cell.outputs).toMatchObject([{ type: "IMAGE", uri: "notebook://cell/1/image/0" }]);
    const { mime, bytes } = await nb.resource("notebook://cell/1/image/0");
    expect([mime, bytes.toString("base64")]).toEqual(["image/png", png]);
    await nb.delete(1);
    expect(nb.show(2).outputs).toMatchObject([{ uri: "notebook://cell/0/image/0" }]);
    expect((await nb.resource("notebook://cell/0/image/0")).bytes).toEqual(bytes);
    await expect(nb.resource("notebook://cell/1/image/0")).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("are watched while they run", async () => {
    const nb = await fixture.open();
    const run = nb.start("import time\nprint('a', flush=True)\ntime.sleep(0.3)\nprint('b')");
    const events: CellEvent[] = [];
    for await (const event of run.events) {
      events.push(event);
      if (event.type === "stdout" && event.text === "a\n") expect(run.cell.state).toBe("RUNNING");
    }
    expect(events.map(({ type }) => type)).toEqual([
      "state",
      "stdout",
      "stdout",
      "state",
      "finished",
    ]);
    expect(events.at(-1)).toEqual({ type: "finished", cell: await run.done });
    expect((await run.done).state).toBe("COMPLETED");
  });

  it("are cancelled while they run and while they wait", async () => {
    const nb = await fixture.open();
    const first = nb.start("k = 1\nimport time\ntime.sleep(30)");
    const second = nb.start("never = 1");
    expect(nb.cells.map(({ state }) => state)).toEqual(["IDLE", "IDLE"]);
    second.cancel();
    for await (const event of first.events) if (event.type === "state") break;
    setTimeout(() => first.cancel(), 200);
    expect((await first.done).state).toBe("CANCELLED");
    expect(await second.done).toMatchObject({ state: "CANCELLED", executionCount: null });
    expect(shown(await nb.run("(k, 'never' in globals())"))).toBe("(1, False)");
    const controller = new AbortController();
    const third = nb.run("time.sleep(30)", { signal: controller.signal });
    setTimeout(() => controller.abort(), 200);
    expect((await third).state).toBe("CANCELLED");
  });

  it("run one at a time, in order", async () => {
    const nb = await fixture.open();
    const runs = [0, 1, 2, 3].map((n) => nb.run(`seen = globals().get('seen', []) + [${n}]\nseen`));
    const cells = await Promise.all(runs);
    expect(cells.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(shown(cells[3] as (typeof cells)[number])).toBe("[0, 1, 2, 3]");
  });

  it("can be added while another one runs, and keep their place", async () => {
    const nb = await fixture.open();
    const running = nb.start("import time; time.sleep(0.5)\n'first'");
    const added = await nb.add("'second'");
    expect([added.index, added.number]).toEqual([1, null]);
    expect(await running.done).toMatchObject({ index: 0, number: 1 });
    expect(nb.cells.map(({ code }) => code)).toEqual([
      "import time; time.sleep(0.5)\n'first'",
      "'second'",
    ]);
  });

  it("are no more than allowed", async () => {
    const nb = await fixture.open({ maxCells: 2 });
    await nb.run("1");
    await nb.add("2");
    await expect(nb.add("3")).rejects.toMatchObject({ code: "LIMIT_REACHED" });
    expect(() => nb.start("3")).toThrow(expect.objectContaining({ code: "LIMIT_REACHED" }));
    await nb.delete(1);
    expect((await nb.run("3")).state).toBe("COMPLETED");
  });

  it("are cleared with the variables, and the next one says so", async () => {
    const nb = await fixture.open();
    await nb.run("x = 1\nopen('f', 'w').write('file')");
    await nb.clear();
    expect(nb.cells).toEqual([]);
    const cell = await nb.run("('x' in globals(), open('f').read())");
    expect(shown(cell)).toBe("(False, 'file')");
    expect([cell.index, cell.number]).toEqual([0, 2]);
    expect(cell.notes).toContain(
      "the notebook was cleared: its variables are gone, its files stay",
    );
  });

  it("list the files that they made, changed and deleted", async () => {
    const nb = await fixture.open();
    await nb.putFile("given.txt", "from the host");
    const made = await nb.run("open('a', 'w').write('1'); open('given.txt').read()");
    expect(made.files).toEqual({ created: ["a"], changed: [], deleted: [] });
    const changed = await nb.run("import os\nopen('a', 'a').write('2'); os.remove('given.txt')");
    expect(changed.files).toEqual({ created: [], changed: ["a"], deleted: ["given.txt"] });
    expect((await nb.getFile("a")).toString()).toBe("12");
    expect((await nb.run("1")).files).toBeUndefined();
  });

  it("are refused where the names are not names", async () => {
    const bad = ["", "..", "a/b", "/etc", "x".repeat(100), "nul\0", ".hidden", "ünïcode", "-rf"];
    for (const name of bad) {
      for (const names of [{ user: name }, { session: name }]) {
        await expect(fixture.open(names)).rejects.toMatchObject({ code: "INVALID_INPUT" });
      }
    }
  });

  it("of a closed notebook do not run", async () => {
    const nb = await fixture.open();
    await nb.close();
    await expect(nb.rerun(0)).rejects.toSatisfy((error) => isCellarError(error, "SESSION_CLOSED"));
  });
});
