import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { NotebookFixture, shown, until } from "../../test/support/notebook/notebook-fixture.js";
import { Notebook } from "./notebook.js";

describe("time travel in a notebook", () => {
  const fixture = new NotebookFixture();

  /** Until the newest run is in a snapshot. */
  const kept = (nb: Notebook) => until(() => nb.state.snapshot?.sequence === nb.state.present);

  it("goes back live, with what no snapshot can hold", async () => {
    const nb = await fixture.open();
    await nb.run("numbers = iter(range(10))\nnext(numbers)");
    await nb.run("next(numbers)");
    await nb.run("del numbers");
    expect(await nb.undo()).toEqual({ sequence: 2, cell: 2, kind: "live" });
    expect(nb.cells.map(({ isUndone }) => isUndone ?? false)).toEqual([false, false, true]);
    expect(shown(await nb.run("next(numbers)"))).toBe("2");
    await nb.rerun(3);
    expect(nb.show(5).isUndone).toBeUndefined();
  });

  it("does not count cells whose effects were taken back", async () => {
    const nb = await fixture.open();
    await nb.run("x = 1");
    await nb.run("x = 2");
    await nb.run("x = 3\nimport os; os._exit(1)");
    await nb.run("x = 4\nwhile True: pass", { timeout: 300 });
    expect(nb.state).toMatchObject({ present: 2, ranAfter: [] });
    await nb.undo();
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("goes back from snapshots when the checkpoints are gone", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    for (const value of [1, 2, 3]) {
      await first.run(`x = ${value}`);
      await kept(first);
    }
    await first.close();
    const nb = fixture.keep(await Notebook.open(options));
    expect(await nb.checkpoints()).toEqual([
      { sequence: 0, cell: null, kind: "snapshot" },
      { sequence: 1, cell: 1, kind: "snapshot" },
      { sequence: 2, cell: 2, kind: "snapshot" },
      { sequence: 3, cell: 3, kind: "live" },
    ]);
    await nb.undo(2);
    expect(nb.state).toMatchObject({ present: 1, restored: 1 });
    expect(shown(await nb.run("x"))).toBe("1");
    await nb.undo(2);
    expect(shown(await nb.run("'x' in globals()"))).toBe("False");
    await expect(nb.undo(5)).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
  });

  it("stays undone after it is opened again", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run("x = 1");
    await first.run("x = 2");
    await first.undo();
    await first.close();
    const nb = fixture.keep(await Notebook.open(options));
    expect(nb.cells.map(({ isUndone }) => isUndone)).toEqual([undefined, true]);
    expect(shown(await nb.run("x"))).toBe("1");
    expect(nb.cells.at(-1)?.number).toBe(3);
  });

  it("says what can be gone back to where the wanted state is not kept", async () => {
    const options = fixture.options({ keepSnapshots: 1 });
    const first = await Notebook.open(options);
    for (const value of [1, 2, 3]) await first.run(`x = ${value}`);
    await first.close();
    const nb = fixture.keep(await Notebook.open(options));
    await expect(nb.undo()).rejects.toMatchObject({
      code: "CHECKPOINT_GONE",
      remedy: "Possible now: undo(3).",
      details: { usable: [3] },
    });
    expect(shown(await nb.run("x"))).toBe("3");
  });

  it("comes back from the newest snapshot when the session is gone, and says what is missing", async () => {
    const nb = await fixture.open();
    await nb.run("x = 1\nopen('file', 'w').write('stays')");
    await kept(nb);
    const crash = nb.start("x = 2\nprint('begun', flush=True)\nwhile True: pass");
    for await (const { type } of crash.events) if (type === "stdout") break;
    endSessions();
    expect(await crash.done).toMatchObject({ state: "CRASHED" });
    const cell = await nb.run("(x, open('file').read())");
    expect(shown(cell)).toBe("(1, 'stays')");
    expect(cell.notes).toContain(
      "the session ended and was restarted: the variables are those after cell 1",
    );
    expect(nb.state).toMatchObject({ restored: 1, ranAfter: [], present: 3 });
  });

  it("knows what ran after the snapshot, and runs it again when asked", async () => {
    const nb = await fixture.open();
    await nb.run("import itertools\nx = 1");
    await kept(nb);
    // Nothing can be kept of it as long as a snapshot takes so long.
    await nb.run("class Slow:\n  def __reduce__(self): import time; time.sleep(60)\nslow = Slow()");
    await nb.run("x += 10");
    await nb.run("del slow\nx += 100\nraise ValueError('as before')");
    await endSession(nb);
    const cell = await nb.run("x");
    expect(shown(cell)).toBe("1");
    expect(cell.notes).toContain(
      "the effects of cells 2, 3, 4 are missing: replay() runs them again",
    );
    expect(nb.state.ranAfter).toEqual([2, 3, 4]);
    const replayed = await nb.replay();
    expect(replayed.map(({ number, state }) => [number, state])).toEqual([
      [6, "COMPLETED"],
      [7, "COMPLETED"],
      [8, "ERROR"],
    ]);
    expect(nb.state.ranAfter).toEqual([]);
    expect(shown(await nb.run("x"))).toBe("111");
  });

  it("tells of a session that ended while nothing ran", async () => {
    const nb = await fixture.open();
    await nb.run("x = 1");
    await kept(nb);
    await endSession(nb);
    await nb.undo();
    expect(shown(await nb.run("'x' in globals()"))).toBe("False");
  });

  it("forks into a notebook of its own", async () => {
    const nb = await fixture.open();
    await nb.run("x = [1]\nopen('file', 'w').write('of both')");
    await nb.run("def grow(): x.append(len(x) + 1)\ngrow()\nx");
    const twin = fixture.keep(await nb.fork("twin"));
    expect(twin.info).toMatchObject({ user: "u1", session: "twin" });
    expect(twin.cells).toEqual(nb.cells);
    expect(twin.state).toMatchObject({ restored: 2, ranAfter: [], lost: [] });
    expect(twin.state.snapshot?.manifest?.variables.map(({ name }) => name).sort()).toEqual([
      "grow",
      "x",
    ]);
    await twin.run("grow(); open('file', 'w').write('of the twin')");
    await twin.delete(1);
    expect(shown(await twin.run("x"))).toBe("[1, 2, 3]");
    expect(shown(await nb.run("(x, open('file').read())"))).toBe("([1, 2], 'of both')");
    expect(nb.cells).toHaveLength(3);
    await nb.close();
    expect(shown(await twin.run("x"))).toBe("[1, 2, 3]");
    await twin.close();
    const again = await fixture.open({ session: "twin" });
    expect(shown(await again.run("x"))).toBe("[1, 2, 3]");
  });

  it("forks what another user goes on with, but never over what is there", async () => {
    const nb = await fixture.open();
    await nb.run("x = 1");
    const twin = fixture.keep(await nb.fork("theirs", { user: "u2" }));
    expect(twin.info.user).toBe("u2");
    await expect(nb.fork("theirs", { user: "u2" })).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(nb.fork("../up")).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(shown(await twin.run("x"))).toBe("1");
    const empty = await fixture.open();
    const second = fixture.keep(await empty.fork("of-nothing"));
    expect(second.cells).toEqual([]);
  });

  it("does not fork what cannot be kept", async () => {
    const nb = await fixture.open({ stateMaxSizeMb: 1 });
    await nb.run("import os\nx = os.urandom(3_000_000)");
    await expect(nb.fork("too-large")).rejects.toMatchObject({ code: "TOO_LARGE" });
    const listed = await Notebook.list({ dir: fixture.dir, user: "u1" });
    expect(listed.map(({ session }) => session)).not.toContain("too-large");
  });
});

/** Resolves when the notebook has noticed. */
async function endSession(nb: Notebook): Promise<void> {
  endSessions();
  await until(async () => (await nb.checkpoints()).every(({ kind }) => kind === "snapshot"));
}

/** Ends every session of this process from outside, as the machine would that runs out of memory. */
function endSessions(): void {
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const pid = Number(name);
    if (isInit(pid) && descends(pid)) process.kill(pid, "SIGKILL");
  }
}

function status(pid: number, field: string): string {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    return new RegExp(`^${field}:\\s+(.*)$`, "m").exec(text)?.[1] ?? "";
  } catch {
    return "";
  }
}

/** The first process of a session: in the host's, the wall's and the session's own count. */
function isInit(pid: number): boolean {
  const numbers = status(pid, "NSpid").split(/\s+/);
  return numbers.length === 3 && numbers[2] === "1";
}

function descends(pid: number): boolean {
  for (let at = pid; at > 1; at = Number(status(at, "PPid"))) if (at === process.pid) return true;
  return false;
}
