import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it } from "vitest";
import {
  NotebookFixture,
  SETTINGS,
  shown,
  until,
} from "../../test/support/notebook/notebook-fixture.js";
import { Notebook } from "./notebook.js";
import { DiskStore } from "./store/disk-store.js";

const PACKAGE = new URL("../../dist/index.js", import.meta.url).href;

describe("a notebook on a disk", () => {
  const fixture = new NotebookFixture();
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  const kept = (nb: Notebook) => until(() => nb.state.snapshot?.sequence === nb.state.present);

  /** Another process that opens a notebook as `nb` and does this. */
  async function otherProcess(session: string, body: string) {
    const options = { user: "u1", session, dir: fixture.dir, ...SETTINGS };
    const source = `
      import { Notebook } from ${JSON.stringify(PACKAGE)};
      const say = (text) => process.stdout.write(text + "\\n");
      const nb = await Notebook.open(${JSON.stringify(options)});
      ${body}
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const kill = async () => {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    };
    return {
      pid: child.pid,
      stdin: child.stdin,
      kill,
      said: async () => (await lines.next()).value,
    };
  }

  it("has after kill -9 every acknowledged cell, and the variables of the last snapshot", async () => {
    const child = await otherProcess(
      "killed",
      `await nb.run("x = 1\\nprint('one')");
       while (nb.state.snapshot?.sequence !== 1) await new Promise((next) => setTimeout(next, 5));
       await nb.add("never_run");
       say("kept");
       await nb.run("x = 2\\nclass Slow:\\n  def __reduce__(self): import time; time.sleep(60)\\nslow = Slow()");
       await nb.run("x = 3\\nprint('y' * 10000)");
       process.kill(process.pid, "SIGKILL");`,
    );
    expect([await child.said(), await child.said()]).toEqual(["kept", undefined]);
    const nb = await fixture.open({ session: "killed" });
    expect(nb.cells.map(({ state }) => state)).toEqual([
      "COMPLETED",
      "IDLE",
      "COMPLETED",
      "COMPLETED",
    ]);
    expect(nb.cells.map(shown)).toEqual(["one\n", "", "", `${"y".repeat(10_000)}\n`]);
    expect(nb.state).toMatchObject({ restored: 1, present: 1, ranAfter: [2, 3] });
    const cell = await nb.run("x");
    expect(shown(cell)).toBe("1");
    expect(cell.notes).toContain("the effects of cells 2, 3 are missing: replay() runs them again");
    expect((await nb.replay()).map(({ number, index }) => [number, index])).toEqual([
      [5, 2],
      [6, 3],
    ]);
    expect(shown(await nb.run("del slow\nx"))).toBe("3");
  });

  it("is held by one process, whose pid the next one is told", async () => {
    const child = await otherProcess("held", `await nb.run("x = 1"); say("open");`);
    await child.said();
    await expect(fixture.open({ session: "held" })).rejects.toMatchObject({
      code: "LOCKED",
      message: expect.stringContaining(`process ${child.pid}`),
      details: { owner: { pid: child.pid } },
    });
    const [listed] = (await Notebook.list({ dir: fixture.dir })).filter(
      ({ session }) => session === "held",
    );
    expect(listed).toMatchObject({ cells: 1, owner: { pid: child.pid } });
    await child.kill();
    expect((await fixture.open({ session: "held" })).cells).toHaveLength(1);
  });

  it("is held within a process too", async () => {
    const options = fixture.options();
    const nb = fixture.keep(await Notebook.open(options));
    await expect(Notebook.open(options)).rejects.toMatchObject({ code: "LOCKED" });
    await expect(Notebook.remove(options)).rejects.toMatchObject({ code: "LOCKED" });
    await nb.close();
    await fixture.keep(await Notebook.open(options)).close();
    await Notebook.remove(options);
    await expect(Notebook.open({ ...options, create: false })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("is taken from one who holds it, whose next change is refused", async () => {
    const child = await otherProcess(
      "fenced",
      `await nb.run("x = 1");
       while (nb.state.snapshot === null) await new Promise((next) => setTimeout(next, 5));
       say("open");
       process.stdin.once("data", async () => {
         const failure = await nb.run("x = 2").catch((error) => error);
         say(JSON.stringify([failure.code, failure.message]));
         const later = await nb.run("x = 3").catch((error) => error);
         say(later.code);
       });`,
    );
    await child.said();
    const nb = await fixture.open({ session: "fenced", takeover: true });
    child.stdin.write("go\n");
    const [code, message] = JSON.parse(await child.said()) as string[];
    expect([code, message]).toEqual([
      "CONFLICT",
      expect.stringContaining(`taken over by process ${process.pid}`),
    ]);
    expect(await child.said()).toBe("CONFLICT");
    expect(nb.cells).toHaveLength(1);
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("goes on from the revision before when the newest head is damaged", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run("x = 1");
    await kept(first);
    await first.add("last");
    await first.close();
    const folder = new DiskStore(fixture.dir).heads.folderOf(options);
    const heads = readdirSync(folder).filter((name) => name.startsWith("head-"));
    const newest = join(folder, heads.sort().at(-1) ?? "");
    const content = readFileSync(newest, "utf8");
    writeFileSync(newest, content.slice(0, -20));
    const nb = fixture.keep(await Notebook.open({ ...options, takeover: true }));
    expect(nb.state.warnings).toEqual([expect.stringContaining("a damaged file was put aside")]);
    expect(nb.cells[0]).toMatchObject({ code: "x = 1", state: "COMPLETED" });
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("shows the other cells when the record of one is damaged", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run("x = 1");
    await first.run(`print('${"z".repeat(6_000)}')`);
    await first.close();
    const blobs = new DiskStore(fixture.dir).blobs(options);
    for await (const ref of blobs.list()) {
      const path = blobs.locate?.(ref) ?? "";
      if (readFileSync(path).includes("zzzz")) writeFileSync(path, "{}");
    }
    const nb = fixture.keep(await Notebook.open(options));
    expect(nb.cells.map(({ state }) => state)).toEqual(["COMPLETED", "ERROR"]);
    expect(nb.cells[1]?.outputs).toMatchObject([{ type: "ERROR", name: "Damaged" }]);
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("refuses a snapshot of another session, and keeps it aside", async () => {
    const [mine, theirs] = [fixture.options(), fixture.options({ user: "u2" })];
    for (const [options, value] of [
      [mine, "'mine'"],
      [theirs, "'theirs'"],
    ] as const) {
      const nb = await Notebook.open(options);
      await nb.run(`x = ${value}`);
      await nb.close();
    }
    const store = new DiskStore(fixture.dir);
    const [own, foreign] = [await store.heads.get(mine), await store.heads.get(theirs)];
    const [snapshot] = (foreign?.head as { snapshots: { blob: never }[] }).snapshots;
    const planted = { ...(own?.head as object), snapshots: [snapshot] };
    await store.blobs(mine).adopt?.(snapshot?.blob as never, store.blobs(theirs));
    await store.heads.cas(mine, planted, own?.rev ?? 0);
    const nb = fixture.keep(await Notebook.open(mine));
    expect(nb.state.refused).toEqual([
      { sequence: 1, reason: expect.stringContaining("seal is not that of this notebook") },
    ]);
    expect(nb.state.ranAfter).toEqual([1]);
    const cell = await nb.run("'x' in globals()");
    expect(shown(cell)).toBe("False");
    expect(cell.notes?.[0]).toContain("the snapshot after cell 1 was not used");
    expect(await store.blobs(mine).has(snapshot?.blob as never)).toBe(true);
  });

  it("takes the snapshot before when the newest is damaged", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    for (const value of [1, 2]) {
      await first.run(`x = ${value}`);
      await kept(first);
    }
    await first.close();
    const store = new DiskStore(fixture.dir);
    const stored = await store.heads.get(options);
    const [newest, older] = (stored?.head as { snapshots: { blob: never }[] }).snapshots;
    const blobs = store.blobs(options);
    const [bad, good] = [newest, older].map((one) => blobs.locate?.(one?.blob as never) ?? "");
    copyFileSync(good as string, bad as string);
    const nb = fixture.keep(await Notebook.open(options));
    expect(nb.state).toMatchObject({ restored: 1, ranAfter: [2], refused: [{ sequence: 2 }] });
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("survives a snapshot that ends the session which it is restored into", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run("import os\nx = 1");
    await kept(first);
    await first.run(
      "class Bomb:\n  def __reduce__(self): return (os._exit, (1,))\nbomb = Bomb()\nx = 2",
    );
    await kept(first);
    await first.close();
    const nb = fixture.keep(await Notebook.open(options));
    expect(nb.state).toMatchObject({ restored: 1, ranAfter: [2], refused: [{ sequence: 2 }] });
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("tells when the state is too large to be kept, and when it fits again", async () => {
    const nb = await fixture.open({ stateMaxSizeMb: 1 });
    await nb.run("import os\nx = os.urandom(3_000_000)");
    await until(() => nb.state.warnings.length > 0);
    const cell = await nb.run("y = 1");
    expect(cell.notes?.[0]).toMatch(/the variables are not saved: .*stateMaxSizeMb/);
    await nb.run("del x");
    await kept(nb);
    expect(nb.state.warnings).toEqual([]);
  });

  it("tells which variables a snapshot could not hold, with advice", async () => {
    const options = fixture.options();
    const first = await Notebook.open(options);
    await first.run("x = 1\nfile = open('f', 'w')\nnumbers = (n for n in range(3))");
    await first.close();
    const nb = fixture.keep(await Notebook.open(options));
    const lost = nb.state.lost.map(({ name }) => name).sort();
    expect(lost).toEqual(["file", "numbers"]);
    const cell = await nb.run("x");
    expect(cell.notes?.some((note) => note.startsWith("lost file: "))).toBe(true);
    const used = await nb.run("file.write('more')");
    expect(used.outputs.at(-1)).toMatchObject({ type: "ERROR", name: "NameError" });
    expect(JSON.stringify(used.outputs)).toContain("reopen");
  });

  it("leaves no content behind that nothing refers to", async () => {
    const options = fixture.options({ keepSnapshots: 1 });
    const nb = fixture.keep(await Notebook.open(options));
    const big = await nb.run(`print('${"a".repeat(6_000)}')`);
    await nb.run(`print('${"b".repeat(6_000)}')`);
    await nb.rerun(big);
    await nb.delete(2);
    await kept(nb);
    await nb.close();
    const count = async () => {
      let blobs = 0;
      for await (const _ of new DiskStore(fixture.dir).blobs(options).list()) blobs += 1;
      return blobs;
    };
    // The record of one cell, and one snapshot.
    expect(await count()).toBe(2);
    await new DiskStore(fixture.dir).blobs(options).put(Buffer.from("left by a killed process"));
    await fixture.keep(await Notebook.open(options)).close();
    expect(await count()).toBe(2);
  });

  it("belongs to users who do not see each other", async () => {
    const [one, two] = await Promise.all([
      fixture.open({ user: "ann", session: "same" }),
      fixture.open({ user: "bob", session: "same" }),
    ]);
    const slow = one.run("import time; time.sleep(1)\nowner = 'ann'\nowner");
    expect(shown(await two.run("owner = 'bob'\nopen('f', 'w').write('b')\nowner"))).toBe("'bob'");
    expect(one.cells[0]?.state).toBe("RUNNING");
    expect(shown(await slow)).toBe("'ann'");
    expect(shown(await one.run("import os; os.listdir()"))).toBe("[]");
    expect((await Notebook.list({ dir: fixture.dir, user: "bob" })).map((nb) => nb.user)).toEqual([
      "bob",
    ]);
  });
});
