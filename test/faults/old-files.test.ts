import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Notebook } from "../../src/index.js";
import { DiskStore } from "../../src/notebook/store/disk-store.js";
import type { NotebookId } from "../../src/notebook/store/store.js";
import { NotebookFixture, shown } from "../support/notebook/notebook-fixture.js";

/** The cells of a program that kept them all in one file. */
const FOREIGN = JSON.stringify({
  cells: [{ cell_number: 0, code: "x = 1", state: "COMPLETED", outputs: [] }],
});

describe("files that this version did not write as they are", () => {
  const fixture = new NotebookFixture();
  const folderOf = (id: NotebookId) => new DiskStore(fixture.dir).heads.folderOf(id);

  /** A notebook with three cells that is closed. */
  const closed = async (): Promise<NotebookId> => {
    const { user, session } = fixture.options();
    const nb = await fixture.open({ user, session });
    for (const n of [0, 1, 2]) await nb.run(`x = ${n}`);
    await nb.close();
    return { user, session };
  };

  const headsOf = (id: NotebookId): string[] =>
    readdirSync(folderOf(id))
      .filter((name) => /^head-0*[1-9]/.test(name))
      .sort()
      .map((name) => join(folderOf(id), name));

  const newestOf = (id: NotebookId): string => headsOf(id).at(-1) ?? "";

  /** Every file below the folder of a notebook, by the digest of its content. */
  const filesOf = (id: NotebookId): ReadonlyMap<string, string> => {
    const names = readdirSync(folderOf(id), { recursive: true, encoding: "utf8" }).sort();
    const files = names.filter((name) => statSync(join(folderOf(id), name)).isFile());
    return new Map(files.map((name) => [name, digest(join(folderOf(id), name))]));
  };

  const expectUntouched = async (id: NotebookId, code: string, message: RegExp): Promise<void> => {
    const before = filesOf(id);
    for (const takeover of [false, true]) {
      await expect(fixture.open({ ...id, takeover })).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
        remedy: expect.stringMatching(/nothing .*was changed/i),
      });
    }
    expect(filesOf(id)).toEqual(before);
  };

  it("are left alone when another program keeps a notebook there", async () => {
    const { user, session } = fixture.options();
    mkdirSync(folderOf({ user, session }), { recursive: true });
    writeFileSync(join(folderOf({ user, session }), "cells.json"), FOREIGN);
    await expectUntouched({ user, session }, "UNSUPPORTED", /another program/);
  });

  it("are left alone when a later version wrote the file", async () => {
    const id = await closed();
    const path = newestOf(id);
    writeFileSync(path, readFileSync(path, "utf8").replace(/"format":\d+/, '"format":99'));
    await expectUntouched(id, "DAMAGED", /newer Cellar \(format 99\)/);
  });

  it("are left alone when a later version wrote what is in the file", async () => {
    const id = await closed();
    const { heads } = new DiskStore(fixture.dir);
    const stored = await heads.get(id);
    const head = { ...(stored?.head as object), version: 3, tomorrow: true };
    await heads.cas(id, head, stored?.rev ?? 0);
    await expectUntouched(id, "DAMAGED", /version/);
  });

  const damages: Readonly<Record<string, (path: string) => void>> = {
    "is empty": (path) => truncateSync(path, 0),
    "is cut off in the middle": (path) => truncateSync(path, statSync(path).size >> 1),
    "lacks its last byte": (path) => truncateSync(path, statSync(path).size - 1),
    "is full of zeros": (path) => writeFileSync(path, Buffer.alloc(statSync(path).size)),
  };

  for (const [what, damage] of Object.entries(damages)) {
    it(`are put aside when the newest ${what}, and the one before is used`, async () => {
      const id = await closed();
      damage(newestOf(id));
      const bytes = digest(newestOf(id));
      // The newest one has let the notebook go, the one before has not: but this process has.
      const nb = await fixture.open(id);
      expect(nb.cells.map(({ code }) => code)).toEqual(["x = 0", "x = 1", "x = 2"]);
      expect(nb.state.warnings.join("\n")).toMatch(/a damaged file was put aside: .*damaged-head-/);
      await nb.replay();
      expect(shown(await nb.run("x"))).toBe("2");
      await nb.close();
      const aside = [...filesOf(id)].filter(([name]) => name.startsWith("damaged-"));
      expect(aside.map(([, content]) => content)).toEqual([bytes]);
      expect((await fixture.open(id)).state.warnings).toEqual([]);
    });

    it(`are put aside when every one ${what}, and none is begun in their place`, async () => {
      const id = await closed();
      for (const path of headsOf(id)) damage(path);
      const bytes = headsOf(id).map(digest).sort();
      for (let tries = 0; tries < 2; tries += 1) {
        await expect(fixture.open(id)).rejects.toMatchObject({
          code: "DAMAGED",
          remedy: expect.stringContaining("damaged-head-"),
        });
      }
      const aside = [...filesOf(id)].filter(([name]) => name.startsWith("damaged-"));
      expect(aside.map(([, content]) => content).sort()).toEqual(bytes);
      expect(headsOf(id)).toEqual([]);
      const { user } = id;
      const listed = await Notebook.list({ dir: fixture.dir, user });
      const entry = listed.find(({ session }) => session === id.session);
      expect(entry?.problem).toMatch(/no revision of the notebook is whole/);
    });
  }

  it("are opened when they are from before content had generations, and go on from there", async () => {
    const { user, session } = fixture.options();
    const id = { user, session };
    const nb = await fixture.open(id);
    await nb.run("x = 1");
    await nb.run("print('.' * 9000)");
    await nb.close();
    await age(new DiskStore(fixture.dir), id);
    const again = await fixture.open(id);
    expect(again.state).toMatchObject({ restored: 2, ranAfter: [], refused: [], warnings: [] });
    expect(shown(again.show(2))).toBe(`${".".repeat(9000)}\n`);
    expect(shown(await again.run("x"))).toBe("1");
    // The same content once more, beside the old one.
    await again.rerun(2);
    expect(shown(await again.run("print('.' * 9000)"))).toBe(`${".".repeat(9000)}\n`);
    await again.close();
    const last = await fixture.open(id);
    expect(last.cells.map(shown)).toEqual(["", ".".repeat(9000), "1", ".".repeat(9000)].map(lined));
    expect(last.state).toMatchObject({ ranAfter: [], refused: [], warnings: [] });
  });

  it("are told when the record of a cell cannot be read, and the other cells are there", async () => {
    const { user, session } = fixture.options();
    const nb = await fixture.open({ user, session });
    await nb.run("x = 1");
    await nb.run("print('.' * 9000)");
    await nb.close();
    const blobs = new DiskStore(fixture.dir).blobs({ user, session });
    for await (const ref of blobs.list()) {
      const path = blobs.locate?.(ref) ?? "";
      if (ref.bytes > 9000) truncateSync(path, 100);
    }
    const again = await fixture.open({ user, session });
    expect(again.show(1)).toMatchObject({ code: "x = 1", state: "COMPLETED" });
    expect(again.cells).toHaveLength(2);
    expect(JSON.stringify(again.show(2))).toMatch(/damaged/);
    expect(again.state.warnings).toEqual(["the saved record of cell 2 cannot be read"]);
    await again.close();
    const kept = [...filesOf({ user, session }).keys()].filter((name) => name.includes("damaged-"));
    expect(kept).toHaveLength(1);
  });

  it("are told when the key is no key, which is never replaced", async () => {
    const id = await closed();
    const path = join(fixture.dir, "key");
    const key = readFileSync(path);
    try {
      truncateSync(path, 7);
      const before = filesOf(id);
      await expect(fixture.open(id)).rejects.toMatchObject({ code: "DAMAGED" });
      expect(statSync(path).size).toBe(7);
      expect(filesOf(id)).toEqual(before);
    } finally {
      writeFileSync(path, key);
    }
    expect((await fixture.open(id)).state.refused).toEqual([]);
  });
});

function lined(text: string): string {
  return text.startsWith(".") ? `${text}\n` : text;
}

/** Makes of a closed notebook what version 1 would have kept. */
async function age(store: DiskStore, id: NotebookId): Promise<void> {
  const stored = await store.heads.get(id);
  const [from, to] = [store.blobs(id), store.blobs(id)];
  for await (const ref of from.list()) {
    if (ref.generation !== undefined) await to.put(from.get(ref));
  }
  const text = JSON.stringify({ ...(stored?.head as object), version: 1 });
  await store.heads.cas(id, JSON.parse(text, bare), stored?.rev ?? 0);
  for await (const ref of from.list()) {
    if (ref.generation !== undefined) await from.delete(ref);
  }
}

function bare(key: string, value: unknown): unknown {
  return key === "generation" ? undefined : value;
}

function digest(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
