import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { DiskStore } from "../../src/notebook/store/disk-store.js";
import type { NotebookId } from "../../src/notebook/store/store.js";
import { NotebookFixture, shown, until } from "../support/notebook/notebook-fixture.js";
import { Hosts } from "./hosts.js";

const MEBIBYTE = 1024 * 1024;
const LARGE = 50 * MEBIBYTE;
/** Bytes that nothing makes smaller. */
const FILL = `import os\nlarge = [os.urandom(${MEBIBYTE}) for _ in range(${LARGE / MEBIBYTE})]`;
const KILLS = 3;

/** Ends every process of the session that it can, as long as there are any new ones. */
const RAMPAGE = `
import os, signal, time
killed = 0
for _ in range(300):
    for pid in range(2, 400):
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except OSError:
                pass
    time.sleep(0.002)
del large
print(killed > 0)
`;

describe("a snapshot that is interrupted half-way", () => {
  const fixture = new NotebookFixture();
  const hosts = new Hosts();
  const blobsOf = (id: NotebookId) => new DiskStore(fixture.dir).blobs(id);
  const folderOf = (id: NotebookId) => join(new DiskStore(fixture.dir).heads.folderOf(id), "blobs");

  /** The sizes of what is being written. */
  const unfinished = (id: NotebookId): number[] =>
    readdirSync(folderOf(id))
      .filter((name) => name.startsWith("temp-"))
      .map((name) => statSync(join(folderOf(id), name), { throwIfNoEntry: false })?.size ?? 0);

  const expectWhole = async (id: NotebookId): Promise<void> => {
    for await (const ref of blobsOf(id).list()) {
      expect((await buffer(blobsOf(id).get(ref))).length).toBe(ref.bytes);
      expect(ref.bytes).toBeLessThan(LARGE);
    }
    expect(readdirSync(folderOf(id)).filter((name) => name.startsWith("damaged-"))).toEqual([]);
  };

  it("by kill -9 of the host leaves the one before, and nothing of itself", async () => {
    const { runtime: _, ...order } = fixture.options();
    const { user, session } = order;
    const id = { user, session };
    const first = await fixture.open(id);
    await first.run("x = 1");
    await first.close();
    for (let kill = 0; kill < KILLS; kill += 1) {
      const host = hosts.start(order);
      expect(await host.opened()).toMatchObject({ restored: 1, warnings: [], refused: [] });
      expect((await host.ask("run", `${FILL}\nx = 2`)).error).toBeUndefined();
      await until(() => unfinished(id).some((size) => size > ((1 + kill) * LARGE) / 10));
      await host.kill();
      expect(unfinished(id).length).toBeGreaterThan(0);
      await expectWhole(id);
    }
    const nb = await fixture.open(id);
    expect(nb.state).toMatchObject({ restored: 1, ranAfter: [2, 3, 4], refused: [], warnings: [] });
    await until(() => unfinished(id).length === 0);
    expect(shown(await nb.run("(x, 'large' in globals())"))).toBe("(1, False)");
    // What is missing is not what can be taken back.
    await nb.undo();
    expect(nb.state.ranAfter).toEqual([2, 3, 4]);
    expect(nb.cells.map(({ isUndone = false }) => isUndone)).toEqual([
      ...[false, false, false, false],
      true,
    ]);
    await nb.replay();
    expect(shown(await nb.run("(x, len(large))"))).toBe("(2, 50)");
  });

  it("takes with it what a deleted cell did, and that is told", async () => {
    const { runtime: _, ...order } = fixture.options();
    const { user, session } = order;
    const host = hosts.start(order);
    await host.opened();
    await host.ask("run", FILL);
    expect((await host.ask("delete", "1")).error).toBeUndefined();
    await host.kill();
    const nb = await fixture.open({ user, session });
    expect(nb.state).toMatchObject({ restored: null, ranAfter: [] });
    expect(nb.state.warnings.join("\n")).toMatch(/a deleted cell is missing/);
    const cell = await nb.run("'large' in globals()");
    expect(shown(cell)).toBe("False");
    expect(cell.notes?.join("\n")).toMatch(/a deleted cell is missing/);
    expect(nb.state.warnings).toEqual([]);
  });

  it("by the cell that kills its writer leaves the one before, and the truth is told", async () => {
    const nb = await fixture.open();
    const { user, session } = nb.info;
    const id = { user, session };
    await nb.run("x = 1");
    await until(() => nb.state.snapshot?.sequence === 1);
    await nb.run(`${FILL}\nx = 2`);
    await until(() => unfinished(id).some((size) => size > 0));
    const cell = await nb.run(RAMPAGE);
    expect(cell.state).toBe("COMPLETED");
    expect(shown(cell)).toBe("True\n");
    expect(cell.notes?.join("\n")).toMatch(/the variables are not saved/);
    await expectWhole(id);
    // Nothing hinders the next one, which is small again.
    expect([1, 3]).toContain(nb.state.snapshot?.sequence);
    await until(() => nb.state.snapshot?.sequence === 3);
    expect(nb.state.warnings).toEqual([]);
    expect(unfinished(id)).toEqual([]);
    await nb.close();
    const again = await fixture.open(id);
    expect(again.state).toMatchObject({ restored: 3, ranAfter: [], refused: [] });
    expect(shown(await again.run("x"))).toBe("2");
  });
});
