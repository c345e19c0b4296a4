import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FaultyStore } from "../../test/support/notebook/faulty-store.js";
import { NotebookFixture, shown, until } from "../../test/support/notebook/notebook-fixture.js";
import { isCellarError } from "../errors.js";
import { parseHead, savedHead } from "./document/head.js";
import { Notebook } from "./notebook.js";
import { DiskStore } from "./store/disk-store.js";

describe("a notebook whose disk fails", () => {
  const fixture = new NotebookFixture();

  const begun = async () => {
    const store = new FaultyStore(new DiskStore(fixture.dir));
    const options = fixture.options({ store });
    const nb = await Notebook.open(options);
    return { nb: fixture.keep(nb), store, options };
  };

  const kept = (nb: Notebook) => until(() => nb.state.snapshot?.sequence === nb.state.present);
  const warningOf = (run: number) => `run ${run} is in the variables, but was not saved`;

  it("can be opened again by a process that could not close it", async () => {
    const { nb, store, options } = await begun();
    await nb.run("x = 1");
    await kept(nb);
    store.fault = "before";
    await expect(nb.close()).rejects.toMatchObject({ code: "IO_ERROR" });
    await expect(nb.run("x")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    store.fault = undefined;
    const again = fixture.keep(await Notebook.open(options));
    expect(shown(await again.run("x"))).toBe("1");
    // The former one has nothing to let go of any more.
    await nb.close();
    expect(shown(await again.run("x + 1"))).toBe("2");
  });

  it("is let go of by the next close, once the disk is well", async () => {
    const { nb, store, options } = await begun();
    store.fault = "before";
    await expect(nb.close()).rejects.toMatchObject({ code: "IO_ERROR" });
    await expect(nb.close()).rejects.toMatchObject({ code: "IO_ERROR" });
    store.fault = undefined;
    await nb.close();
    await nb.close();
    const [entry] = await Notebook.list({ dir: fixture.dir, user: options.user }).then((all) =>
      all.filter(({ session }) => session === options.session),
    );
    expect(entry?.owner).toBeNull();
    const head = parseHead((await store.heads.get(options))?.head, "it");
    expect(head.owner).toBeNull();
  });

  it("can be opened again when opening it failed after it was claimed", async () => {
    const { nb, store, options } = await begun();
    await nb.run("x = 1");
    await nb.close();
    store.fault = "after";
    await expect(Notebook.open(options)).rejects.toMatchObject({ code: "IO_ERROR" });
    store.fault = undefined;
    const again = fixture.keep(await Notebook.open(options));
    expect(shown(await again.run("x"))).toBe("1");
  });

  it("is held all the same by one who has it open in this process", async () => {
    const { options } = await begun();
    await expect(Notebook.open(options)).rejects.toMatchObject({ code: "LOCKED" });
  });

  it("tells of a run that is not in the record, until it is not in the variables either", async () => {
    const { nb, store, options } = await begun();
    await nb.run("x = 1");
    await kept(nb);
    store.fault = "before";
    await expect(nb.run("x += 10")).rejects.toMatchObject({
      code: "IO_ERROR",
      message: expect.stringMatching(
        /run 2 is not in the record; its effects are in the variables/,
      ),
      details: { errno: "EIO", inRecord: false, inVariables: true },
    });
    store.fault = undefined;
    expect(nb.state.warnings).toContain(warningOf(2));
    const told = await nb.run("x += 100");
    expect(told.notes).toContain(warningOf(2));
    await nb.close();

    const again = fixture.keep(await Notebook.open(options));
    expect(again.cells.map(({ code }) => code)).toEqual(["x = 1", "x += 100"]);
    expect(again.state).toMatchObject({ ranAfter: [], warnings: [warningOf(2)] });
    expect(shown(await again.run("x"))).toBe("111");
    await again.undo();
    expect(again.state.warnings).toEqual([warningOf(2)]);
    await again.undo(2);
    expect(again.state.warnings).toEqual([]);
    expect(shown(await again.run("x"))).toBe("1");
    await again.close();
    const last = fixture.keep(await Notebook.open(options));
    expect(last.state).toMatchObject({ ranAfter: [], warnings: [] });
  });

  it("keeps the variables of a run that is not in the record, and says so", async () => {
    const { nb, store, options } = await begun();
    await nb.run("x = 1");
    store.fault = "before";
    await expect(nb.run("x = 2")).rejects.toMatchObject({ code: "IO_ERROR" });
    store.fault = undefined;
    await nb.close();
    const again = fixture.keep(await Notebook.open(options));
    expect(again.state).toMatchObject({ restored: 2, ranAfter: [], warnings: [warningOf(2)] });
    const cell = await again.run("x");
    expect([shown(cell), cell.executionCount]).toEqual(["2", 3]);
    expect(again.cells.map(({ code }) => code)).toEqual(["x = 1", "x"]);
  });

  it("tells of a run that is in the record although saving it failed", async () => {
    const { nb, store, options } = await begun();
    await nb.run("x = 1");
    await kept(nb);
    store.fault = "after";
    await expect(nb.run("x = 2")).rejects.toMatchObject({
      code: "IO_ERROR",
      message: expect.stringMatching(/run 2 is in the record/),
      details: { inRecord: true, inVariables: true },
    });
    store.fault = undefined;
    expect(nb.state.warnings).toEqual([]);
    expect(nb.cells.map(({ code }) => code)).toEqual(["x = 1", "x = 2"]);
    await nb.close();
    const again = fixture.keep(await Notebook.open(options));
    expect(again.cells.map(({ code }) => code)).toEqual(["x = 1", "x = 2"]);
    expect(again.state.warnings).toEqual([]);
    expect(shown(await again.run("x"))).toBe("2");
  });

  it("does not claim to know what is in the record while that cannot be read", async () => {
    const { nb, store } = await begun();
    await nb.run("x = 1");
    await kept(nb);
    store.fault = "blind";
    await expect(nb.run(`x = 2\nprint('${"z".repeat(6_000)}')`)).rejects.toMatchObject({
      code: "IO_ERROR",
      message: expect.stringMatching(/whether run 2 is in the record cannot be read now/),
      details: { inRecord: null, inVariables: true },
    });
    expect(nb.state.warnings).toContain(warningOf(2));
    store.fault = undefined;
    expect(shown(await nb.run("x"))).toBe("2");
    // It was there after all.
    expect(nb.cells.map(({ executionCount }) => executionCount)).toEqual([1, 2, 3]);
    expect(nb.state.warnings).toEqual([]);
  });

  it("fails to open with a disk fault where the state cannot be cleared away", async () => {
    const { nb, options } = await begun();
    await nb.run("x = 1");
    await nb.close();
    const store = new DiskStore(fixture.dir);
    const { sessionDir } = parseHead((await store.heads.get(options))?.head, "it");
    mkdirSync(join(fixture.dir, "rooms", sessionDir, "state"));
    await expect(Notebook.open(options)).rejects.toSatisfy((error) =>
      isCellarError(error, "IO_ERROR"),
    );
  });

  it("names the snapshot that would be restored, not a newer one that is not in effect", async () => {
    const { nb, options } = await begun();
    for (const value of [1, 2]) {
      await nb.run(`x = ${value}`);
      await kept(nb);
    }
    await nb.close();
    const { heads } = new DiskStore(fixture.dir);
    const stored = await heads.get(options);
    const head = parseHead(stored?.head, "it");
    const executions = head.executions.map((run) =>
      run.sequence === 2 ? { ...run, isLost: true } : run,
    );
    await heads.cas(options, savedHead({ ...head, executions }), stored?.rev ?? 0);
    const again = fixture.keep(await Notebook.open(options));
    expect(again.state).toMatchObject({ restored: 1, snapshot: { sequence: 1 } });
    // What is never restored again takes no place.
    await again.run("x");
    const now = parseHead((await heads.get(options))?.head, "it");
    expect(now.snapshots.map(({ sequence }) => sequence)).not.toContain(2);
  });
});
