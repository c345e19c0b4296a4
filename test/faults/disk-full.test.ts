import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Notebook } from "../../src/index.js";
import { type NotebookDocument, readDocument } from "../../src/notebook/document/journal.js";
import type { Cell } from "../../src/notebook/index.js";
import { DiskStore } from "../../src/notebook/store/disk-store.js";
import { NotebookFixture, shown, until } from "../support/notebook/notebook-fixture.js";
import { Hosts } from "./hosts.js";

const KIBIBYTE = 1024;
const DISK = 24 * KIBIBYTE * KIBIBYTE;
/** What is left on the disk, so that each step of saving is once the one that fails. */
const LEFT = [0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64];

describe("a full disk", () => {
  const fixture = new NotebookFixture();
  const hosts = new Hosts();
  const dir = mkdtempSync(join(tmpdir(), "cellar-small-disk-"));
  const filler = join(dir, "filler");
  let absence: string | undefined;

  beforeAll(() => {
    const options = `size=${DISK},mode=711`;
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", dir], { stdio: "ignore" });
    } catch {
      absence = "a small disk cannot be mounted here";
    }
  });
  afterAll(async () => {
    if (absence === undefined) execFileSync("umount", ["--lazy", dir]);
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  });
  beforeEach((context) => {
    if (absence !== undefined) context.skip(absence);
    free();
  });

  const free = () => rmSync(filler, { force: true });
  /** Others may be writing too, so what fits is found out by trying. */
  const fill = (left = 0): void => {
    free();
    expect(() => writeFileSync(filler, Buffer.alloc(DISK))).toThrow("ENOSPC");
    truncateSync(filler, Math.max(0, statSync(filler).size - left));
  };

  /** What another process would find. */
  const saved = async ({ info: { user, session } }: Notebook): Promise<NotebookDocument> => {
    const [store, id] = [new DiskStore(dir), { user, session }];
    const stored = await store.heads.get(id);
    if (stored === undefined) throw new Error("nothing is saved");
    return readDocument(stored, { store, id });
  };
  const savedCells = async (nb: Notebook): Promise<Cell[]> =>
    (await saved(nb)).records.map(({ cell }) => cell);

  const refused = { code: "IO_ERROR", details: { errno: "ENOSPC" } };

  it("fails what cannot be saved, and loses nothing that was", async () => {
    const nb = await fixture.open({ dir });
    const { user, session } = nb.info;
    await nb.run("x = 1");
    const idle = await nb.add("x + 1");
    await until(() => nb.state.snapshot?.sequence === 1);
    const before = nb.cells;
    fill();
    await expect(nb.run("x += 10")).rejects.toMatchObject(refused);
    await expect(nb.add("never")).rejects.toMatchObject(refused);
    await expect(nb.delete(1)).rejects.toMatchObject(refused);
    await expect(nb.run(idle)).rejects.toMatchObject(refused);
    expect(nb.cells).toEqual(before);
    expect(nb.state.warnings.join("\n")).toMatch(/run 2 is in the variables, but was not saved/);
    free();
    expect(shown(await nb.run("x"))).toBe("11");
    await nb.delete(idle);
    const after = nb.cells;
    expect(after.map(({ code }) => code)).toEqual(["x = 1", "x"]);
    await nb.close();
    const again = await fixture.open({ user, session, dir });
    expect(again.cells).toEqual(after);
    expect(again.state).toMatchObject({
      ranAfter: [],
      refused: [],
      warnings: [2, 3].map((run) => `run ${run} is in the variables, but was not saved`),
    });
    expect(shown(await again.run("x"))).toBe("11");
  });

  it("fails at any step of saving, and what is told is what is there", async () => {
    const nb = await fixture.open({ dir });
    const { user, session } = nb.info;
    const told = { saved: 0, refused: 0 };
    const unsaved: number[] = [];
    for (const [at, left] of LEFT.entries()) {
      fill(left * KIBIBYTE);
      const before = nb.cells;
      const code = `print('${left} ' * 4000)`;
      try {
        const cell = await nb.run(code);
        expect(nb.cells).toEqual([...before, cell]);
        told.saved += 1;
      } catch (error) {
        expect(error).toMatchObject({
          code: "IO_ERROR",
          details: { errno: "ENOSPC", inRecord: false, inVariables: true },
        });
        expect(nb.cells).toEqual(before);
        told.refused += 1;
        unsaved.push(at + 1);
      }
      free();
      expect(await savedCells(nb)).toEqual(nb.cells);
    }
    expect(told.saved).toBeGreaterThan(0);
    expect(told.refused).toBeGreaterThan(0);
    const cells = nb.cells;
    await nb.close();
    const again = await fixture.open({ user, session, dir });
    expect(again.cells).toEqual(cells);
    // They may have done anything to the variables, which are kept.
    const warnings = unsaved.map((run) => `run ${run} is in the variables, but was not saved`);
    expect(again.state).toMatchObject({ refused: [], warnings });
  });

  it("keeps the snapshot that is there, tells that it is old, and takes the next one", async () => {
    const nb = await fixture.open({ dir });
    const { user, session } = nb.info;
    await nb.run("x = 1");
    await until(() => nb.state.snapshot?.sequence === 1);
    fill(3 * KIBIBYTE * KIBIBYTE);
    const cell = await nb.run("import os\nlarge = os.urandom(8 << 20)\nx = 2");
    expect(cell.state).toBe("COMPLETED");
    await until(() => nb.state.warnings.length > 0);
    expect(nb.state.warnings.join("\n")).toMatch(/not saved: .*(ENOSPC|no space)/);
    expect(nb.state.snapshot?.sequence).toBe(1);
    const told = await nb.run("del large");
    expect(told.notes?.join("\n")).toMatch(/the variables are not saved/);
    free();
    await nb.run("x");
    await until(() => nb.state.snapshot?.sequence === 4);
    expect(nb.state.warnings).toEqual([]);
    await nb.close();
    const again = await fixture.open({ user, session, dir });
    expect(again.state).toMatchObject({ restored: 4, ranAfter: [], refused: [] });
  });

  it("that a cell has filled itself fails that cell, not the notebook", async () => {
    const nb = await fixture.open({ dir });
    await nb.run("x = 1");
    const code = `
import os
file = os.open('big', os.O_WRONLY | os.O_CREAT)
try:
    while True: os.write(file, b'.' * 65536)
except OSError as error:
    print(error.errno)
os.close(file)
`;
    await expect(nb.run(code)).rejects.toMatchObject(refused);
    expect(nb.cells.map(({ code }) => code)).toEqual(["x = 1"]);
    const relief = await nb.run("os.remove('big')\nx");
    expect(shown(relief)).toBe("1");
    expect(await savedCells(nb)).toEqual(nb.cells);
  });

  it("lets nobody open or make a notebook half-way", async () => {
    const nb = await fixture.open({ dir });
    const { user, session } = nb.info;
    await nb.run("x = 1");
    await nb.close();
    fill();
    await expect(fixture.open({ user, session, dir })).rejects.toMatchObject(refused);
    await expect(fixture.open({ dir, session: "unborn" })).rejects.toMatchObject(refused);
    free();
    const again = await fixture.open({ user, session, dir });
    expect(shown(await again.run("x"))).toBe("1");
    expect((await fixture.open({ dir, session: "unborn" })).cells).toEqual([]);
  });

  it("and a kill at the same time lose nothing together", async () => {
    const { runtime: _, ...order } = fixture.options({ dir });
    const host = hosts.start(order);
    await host.opened();
    const first = await host.ask("run", "x = 1");
    fill(8 * KIBIBYTE);
    const second = await host.ask("run", "x = 2\nprint('.' * 60000)");
    expect(second.error).toMatchObject({ code: "IO_ERROR" });
    await host.kill();
    free();
    const nb = await fixture.open({ dir, user: order.user, session: order.session });
    expect(nb.cells).toEqual([first.value]);
    expect(nb.state).toMatchObject({ refused: [], warnings: [] });
    await nb.replay();
    expect(shown(await nb.run("x"))).toBe("1");
  });
});
