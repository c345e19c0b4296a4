import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import {
  NotebookFixture,
  SETTINGS,
  shown,
  until,
} from "../../test/support/notebook/notebook-fixture.js";
import { NativeRuntime } from "../backends/native/runtime.js";
import { Notebook } from "./notebook.js";

describe("a notebook at its limits", () => {
  const fixture = new NotebookFixture();
  const mounted: string[] = [];
  afterEach(() => {
    for (const dir of mounted.splice(0)) execFileSync("umount", ["--lazy", dir]);
  });

  function smallDisk(): string | undefined {
    const dir = join(fixture.dir, "small");
    mkdirSync(dir);
    try {
      const args = ["-t", "tmpfs", "-o", "size=2m,mode=755", "tmpfs", dir];
      execFileSync("mount", args, { stdio: "ignore" });
    } catch {
      return undefined;
    }
    mounted.push(dir);
    return dir;
  }

  it("says what it wants when it is given nothing", async () => {
    const calls = [Notebook.open, Notebook.list, Notebook.remove] as ((
      given?: object,
    ) => unknown)[];
    for (const call of calls) {
      for (const given of [undefined, {}]) {
        const refusal = (async () => call.call(Notebook, given))();
        await expect(refusal).rejects.toMatchObject({
          code: "INVALID_INPUT",
          remedy: expect.stringContaining("dir"),
        });
      }
    }
  });

  it("rejects what a full disk does not take, and remembers no more than the disk has", async (context) => {
    const dir = smallDisk();
    if (dir === undefined) return context.skip("a small disk cannot be mounted here");
    await using runtime = new NativeRuntime();
    const options = { ...fixture.options({ session: "full" }), dir, runtime };
    const nb = await Notebook.open(options);
    await nb.run("x = 1\nprint('saved')");
    await until(() => nb.state.snapshot?.sequence === 1);
    const filler = join(dir, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(4_000_000))).toThrow("ENOSPC");
    await expect(nb.run("x = 2")).rejects.toMatchObject({ code: "IO_ERROR" });
    await expect(nb.add("more")).rejects.toMatchObject({ code: "IO_ERROR" });
    await expect(nb.delete(1)).rejects.toMatchObject({ code: "IO_ERROR" });
    expect(nb.cells.map(({ code }) => code)).toEqual(["x = 1\nprint('saved')"]);
    expect(nb.state.warnings).toContain("run 2 is in the variables, but was not saved");
    rmSync(filler);
    const cell = await nb.run("x");
    expect([cell.index, cell.number, shown(cell)]).toEqual([1, 3, "2"]);
    await nb.close();
    const again = await Notebook.open(options);
    expect(again.cells.map(shown)).toEqual(["saved\n", "2"]);
    expect(shown(await again.run("x"))).toBe("2");
    await again.close();
  });

  it("does not hold up others, however long it runs", async () => {
    const busy = await fixture.open();
    const long = busy.start("while True: pass");
    const others = await Promise.all(Array.from({ length: 5 }, () => fixture.open()));
    const cells = await Promise.all(others.map((nb, n) => nb.run(`${n}`)));
    expect(cells.map(shown)).toEqual(["0", "1", "2", "3", "4"]);
    let beats = 0;
    for (; beats < 20; beats += 1) await sleep(1);
    expect(long.cell.state).toBe("RUNNING");
    long.cancel();
    expect((await long.done).state).toBe("CANCELLED");
  });

  it("marks private data for good", async () => {
    const options = fixture.options({
      network: { allow: ["example.org"] },
      privateFiles: ["*.key"],
    });
    const first = await Notebook.open(options);
    expect(first.info.private).toBeNull();
    expect(first.network).toMatchObject({ allow: ["example.org"], cut: null });
    await first.markPrivate("salaries");
    expect(first.network?.cut).toBe("salaries");
    const cell = await first.run("1");
    expect(cell.notes).toEqual(["Private data (salaries): the network is cut for good."]);
    expect((await first.run("2")).notes).toBeUndefined();
    await first.close();
    const nb = fixture.keep(await Notebook.open(options));
    expect(nb.info.private).toMatchObject({ reason: "salaries" });
    expect(nb.network?.cut).toBe("salaries");
  });

  it("finds private files by its rules, whoever brings them", async () => {
    const rules = { network: { allow: ["example.org"] }, privateFiles: ["*.key"] };
    const given = await fixture.open(rules);
    await given.putFile("notes.txt", "nothing");
    expect(given.info.private).toBeNull();
    await given.putFile("deep/down/a.key", "secret");
    expect(given.network?.cut).toContain("deep/down/a.key");
    const made = await fixture.open(rules);
    await made.run("open('b.key', 'w').write('secret')");
    expect(made.info.private?.reason).toContain("b.key");
  });

  it("finds private files that a process left running makes, between cells and beside one", async () => {
    const rules = { network: { allow: ["example.org"] }, privateFiles: ["*.key"] };
    const leave = (wait: number) =>
      `import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep ${wait}; touch late.key'])\n`;
    const between = await fixture.open(rules);
    await between.run(leave(1));
    expect(between.info.private).toBeNull();
    await until(() => between.info.private !== null);
    expect(between.network?.cut).toContain("late.key");
    const beside = await fixture.open(rules);
    const run = beside.start(`${leave(1)}import time\ntime.sleep(60)`);
    await until(() => beside.network?.cut !== null);
    expect(run.cell.state).toBe("RUNNING");
    run.cancel();
    await run.done;
    const before = await fixture.open(rules);
    await before.run(leave(0));
    await until(async () => (await before.files()).files.length > 0);
    const next = await before.run(
      "import socket\nlink = socket.create_connection(('127.0.0.1', 3128))\n" +
        "link.sendall(b'CONNECT example.org:443 HTTP/1.1\\r\\n\\r\\n')\nlink.recv(1000)",
    );
    expect(shown(next)).toContain("cut");
  });
});

describe("a notebook without walls", () => {
  const dir = mkdtempSync(join(tmpdir(), "cellar-plain-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

  async function open(session: string) {
    const runtime = new NativeRuntime({ walls: false });
    const options = { ...SETTINGS, minIsolation: "L0" as const, checkpoints: "off" as const };
    const nb = await Notebook.open({ user: "u1", session, dir, runtime, ...options });
    return {
      nb,
      [Symbol.asyncDispose]: async () => {
        await nb.close();
        await runtime[Symbol.asyncDispose]();
      },
    };
  }

  it("keeps its state all the same, and goes back from snapshots", async () => {
    {
      await using opened = await open("plain");
      const { nb } = opened;
      expect(nb.info.mode).toBe("plain");
      await nb.run("x = 1\nopen('f', 'w').write('file')");
      await until(() => nb.state.snapshot?.sequence === 1);
      await nb.run("x = 2");
    }
    await using opened = await open("plain");
    const { nb } = opened;
    expect(shown(await nb.run("(x, open('f').read())"))).toBe("(2, 'file')");
    await nb.undo(2);
    expect(shown(await nb.run("x"))).toBe("1");
    const crash = await nb.run("import os; os._exit(1)");
    expect(crash.state).toBe("CRASHED");
    expect(shown(await nb.run("x"))).toBe("1");
  });

  it("says that it enforces nothing about private data", async () => {
    await using opened = await open("open");
    const { nb } = opened;
    await nb.markPrivate("salaries");
    const cell = await nb.run("__private_data__");
    expect(shown(cell)).toBe("True");
    expect(cell.notes?.[0]).toContain("nothing is enforced");
    expect((await nb.run("1")).notes?.[0]).toContain("nothing is enforced");
  });
});
