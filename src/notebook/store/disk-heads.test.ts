import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fillDisk, ID, StoreFixture } from "../../../test/support/notebook/store-fixture.js";
import { TempNames } from "./disk-folders.js";
import { DiskStore } from "./disk-store.js";
import { currentOwner, heldHere } from "./owner.js";
import { tombstone } from "./tombstone.js";

describe("heads on a disk", () => {
  let fixture: StoreFixture;
  beforeEach(async () => {
    fixture = await StoreFixture.open();
  });
  afterEach(() => fixture[Symbol.asyncDispose]());
  const get = () => fixture.reopen().heads.get(ID);

  it("are for their owner alone", async () => {
    await fixture.fill(1);
    for (const folder of [fixture.folder, dirname(fixture.folder)]) {
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    }
    expect((await stat(fixture.head(1))).mode & 0o777).toBe(0o600);
  });

  it("keep a few revisions and nothing else", async () => {
    await fixture.fill(100);
    const names = await readdir(fixture.folder);
    expect(names.every((name) => name.startsWith("head-"))).toBe(true);
    expect(names.length).toBeGreaterThan(1);
    expect(names.length).toBeLessThan(40);
    expect(await get()).toEqual({ rev: 100, head: { n: 100 } });
  });

  const flip = async (path: string) => {
    const content = await readFile(path);
    content.writeUInt8(content.readUInt8(content.length - 5) ^ 1, content.length - 5);
    await writeFile(path, content);
  };
  const damages: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    "has a wrong bit": flip,
    "is cut off": async (path) => truncate(path, (await stat(path)).size - 1),
    "is empty": (path) => truncate(path, 0),
    "is not JSON": (path) => writeFile(path, "cell"),
    "is that of an older revision": (path) => copyFile(fixture.head(4), path),
    "is that of another notebook": async (path) => {
      const other = { user: "bob", session: "one" };
      const store = fixture.reopen();
      for (let rev = 0; rev < 5; rev += 1) await store.heads.cas(other, "bob's", rev);
      await copyFile(join(store.heads.folderOf(other), "head-000000000005.json"), path);
    },
    "is a link": async (path) => {
      await rename(path, join(fixture.dir, "elsewhere"));
      await symlink(join(fixture.dir, "elsewhere"), path);
    },
    "is a folder": async (path) => {
      await rm(path);
      await mkdir(path);
    },
    "is a pipe": async (path) => {
      await rm(path);
      execFileSync("mkfifo", [path]);
    },
  };

  for (const [what, damage] of Object.entries(damages)) {
    it(`are read from the revision before when the newest ${what}`, async () => {
      await fixture.fill(5);
      await damage(fixture.head(5));
      const found = await get();
      expect(found).toMatchObject({ head: { n: 4 }, damaged: [expect.stringMatching(/damaged-/)] });
      const kept = await fixture.names("damaged-");
      expect(kept).toHaveLength(1);
      expect(found?.damaged).toEqual(kept.map((name) => join(fixture.folder, name)));
      // Told until somebody has gone on from there.
      expect(await get()).toEqual(found);
      const { heads } = fixture.reopen();
      const rev = await heads.cas(ID, "next", found?.rev as number);
      expect(await get()).toEqual({ rev, head: "next" });
      expect(await fixture.names("damaged-")).toEqual(kept);
    });
  }

  it("never give a number twice, so that one who wrote it is found out", async () => {
    await fixture.fill(4);
    const zombie = fixture.reopen();
    await zombie.heads.cas(ID, "mine", 4);
    await flip(fixture.head(5));
    const found = await get();
    expect(found).toMatchObject({ head: { n: 4 } });
    expect(found?.rev).toBeGreaterThan(5);
    await expect(zombie.heads.cas(ID, "zombie", 5)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await get()).toEqual(found);
  });

  it("keep the very bytes of what is damaged, each under its own name", async () => {
    await fixture.fill(6);
    await writeFile(fixture.head(6), "broken six");
    await writeFile(fixture.head(5), "broken five");
    const found = await get();
    expect(found).toMatchObject({ head: { n: 4 } });
    const contents = await Promise.all(
      (found?.damaged ?? []).map((path) => readFile(path, "utf8")),
    );
    expect(contents.sort()).toEqual(["broken five", "broken six"]);
  });

  it("say so when nothing is whole, and are not begun anew", async () => {
    await fixture.fill(3);
    for (const rev of [1, 2, 3]) await writeFile(fixture.head(rev), "broken");
    for (let look = 0; look < 2; look += 1) {
      const failure = {
        code: "DAMAGED",
        remedy: expect.stringContaining("damaged-head-000000000003"),
      };
      await expect(get()).rejects.toMatchObject(failure);
    }
    expect(await fixture.names("damaged-")).toHaveLength(3);
    const { heads } = fixture.reopen();
    await expect(heads.cas(ID, "new", 0)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await fixture.names("head-")).toEqual(["head-000000000000.json"]);
  });

  it("of a later version are refused and left alone", async () => {
    await fixture.fill(2);
    const path = join(fixture.folder, "head-000000000002.json");
    await writeFile(path, (await readFile(path, "utf8")).replace('"format":1', '"format":2'));
    const before = await readdir(fixture.folder);
    await expect(get()).rejects.toMatchObject({
      code: "DAMAGED",
      message: expect.stringContaining("newer Cellar (format 2)"),
    });
    expect(await readdir(fixture.folder)).toEqual(before);
  });

  it("leave a notebook of another program alone", async () => {
    await mkdir(fixture.folder, { recursive: true });
    await writeFile(join(fixture.folder, "cells.json"), "{}");
    const { heads } = fixture.reopen();
    const refusal = { code: "UNSUPPORTED", remedy: expect.stringContaining("import") };
    await expect(heads.get(ID)).rejects.toMatchObject(refusal);
    await expect(heads.cas(ID, 1, 0)).rejects.toMatchObject(refusal);
    expect(await readdir(fixture.folder)).toEqual(["cells.json"]);
  });

  it("are swept of what the dead have left, and of nothing else", async () => {
    await fixture.fill(1);
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const mine = new TempNames().next();
    const theirs = mine.replace(/^temp-\d+-\d*-/, `temp-${child.pid}-1-`);
    const foreign = mine.replace(/-[0-9a-f]{12}-/, "-0123456789ab-");
    const old = `${foreign}0`;
    for (const name of [mine, theirs, foreign, old]) {
      await writeFile(join(fixture.folder, name), "half");
    }
    await utimes(join(fixture.folder, old), 1, 1);
    child.kill("SIGKILL");
    await once(child, "close");
    expect(await get()).toEqual({ rev: 1, head: { n: 1 } });
    expect(await fixture.names("temp-")).toEqual([foreign, mine].sort());
  });

  it("refuse one who was overtaken after the look", async () => {
    await fixture.fill(3);
    const slow = fixture.reopen().heads;
    expect(await slow.get(ID)).toMatchObject({ rev: 3 });
    const { heads } = fixture.reopen();
    for (let rev = 3; rev < 60; rev += 1) await heads.cas(ID, { n: rev + 1 }, rev);
    expect(await fixture.names("head-000000000004")).toEqual([]);
    await expect(slow.cas(ID, "late", 3)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await fixture.names("head-000000000004")).toEqual([]);
    expect(await fixture.names("temp-")).toEqual([]);
    expect(await get()).toEqual({ rev: 60, head: { n: 60 } });
  });

  it("refuse one whose notebook was deleted and made again up to the same number", async () => {
    await fixture.fill(2);
    const [zombie, remover] = [fixture.reopen().heads, fixture.reopen().heads];
    await Promise.all([zombie.get(ID), remover.get(ID)]);
    await fixture.reopen().heads.delete(ID, 2);
    await fixture.fill(2);
    await expect(remover.delete(ID, 2)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(zombie.cas(ID, "zombie", 2)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await get()).toEqual({ rev: 2, head: { n: 2 } });
    expect(await readdir(dirname(fixture.folder))).toEqual(["one"]);
  });

  it("go in one step while another one writes", async () => {
    await fixture.fill(1);
    for (let round = 0; round < 10; round += 1) {
      const writer = fixture.reopen().heads;
      let rev = (await writer.get(ID))?.rev ?? 0;
      const writing = (async () => {
        while (rev < 1000) rev = await writer.cas(ID, { n: rev + 1 }, rev);
      })();
      const refused = expect(writing).rejects.toMatchObject({ code: "CONFLICT" });
      await expect.poll(() => rev, { interval: 1 }).toBeGreaterThan(3);
      const remover = fixture.reopen().heads;
      const remove = async () => remover.delete(ID, await remover.revision(ID));
      await expect.poll(remove, { interval: 0, timeout: 20_000 }).toBeUndefined();
      await refused;
      expect(await get()).toBeUndefined();
      expect(await readdir(dirname(fixture.folder))).toEqual([]);
      await fixture.fill(1);
    }
  });

  describe("whose deletion was not finished", () => {
    const deleter = currentOwner();
    afterEach(() => heldHere().delete(deleter.incarnation));

    /** As one is that has stopped between two steps of its deletion. */
    const halfDeleted = async () => {
      await fixture.fill(2);
      await fixture.reopen().blobs(ID).put(Buffer.from("content"));
      heldHere().add(deleter.incarnation);
      await fixture.reopen().heads.cas(ID, tombstone(deleter), 2);
    };

    const expectGone = async () => {
      const { heads } = fixture.reopen();
      expect([await heads.get(ID), await heads.revision(ID)]).toEqual([undefined, 0]);
      for await (const id of heads.list()) expect(id).toBeUndefined();
    };

    it("are gone, and their name is not given away while the deleter may go on", async () => {
      await halfDeleted();
      const { heads } = fixture.reopen();
      await expectGone();
      const conflict = { code: "CONFLICT" };
      await expect(heads.cas(ID, "past it", 3)).rejects.toMatchObject(conflict);
      await expect(heads.delete(ID, 3)).rejects.toMatchObject(conflict);
      await expect(heads.cas(ID, "new", 0)).rejects.toMatchObject({
        ...conflict,
        message: expect.stringContaining(`deleted by process ${process.pid} `),
      });
      expect(await readdir(dirname(fixture.folder))).toEqual(["one"]);
      await expectGone();
    });

    it("are taken away by the next one when the deleter is dead", async () => {
      await halfDeleted();
      heldHere().delete(deleter.incarnation);
      await expectGone();
      expect(await readdir(dirname(fixture.folder))).toEqual([]);
    });

    it("are made anew by one of many when the deleter is dead", async () => {
      for (let round = 0; round < 10; round += 1) {
        await halfDeleted();
        heldHere().delete(deleter.incarnation);
        const tries = [1, 2, 3, 4].map((head) => fixture.reopen().heads.cas(ID, head, 0));
        const ends = await Promise.allSettled(tries);
        const won = ends.flatMap(({ status }, at) => (status === "fulfilled" ? [at + 1] : []));
        expect(won).toHaveLength(1);
        expect(await get()).toEqual({ rev: 1, head: won[0] });
        expect(await readdir(fixture.folder)).not.toContain("blobs");
        await fixture.reopen().heads.delete(ID, 1);
      }
    });
  });

  it("of which nothing is whole are deleted, but not once they were put right", async () => {
    for (const isPutRight of [true, false]) {
      await fixture.fill(2);
      const copy = join(fixture.dir, "copy");
      await copyFile(fixture.head(2), copy);
      for (const rev of [1, 2]) await writeFile(fixture.head(rev), "broken");
      await expect(get()).rejects.toMatchObject({ code: "DAMAGED" });
      const { heads } = fixture.reopen();
      const rev = await heads.revision(ID);
      if (isPutRight) {
        await copyFile(copy, fixture.head(2));
        expect(await fixture.reopen().heads.cas(ID, "going on", 2)).toBe(3);
        await expect(heads.delete(ID, rev)).rejects.toMatchObject({ code: "CONFLICT" });
        expect(await get()).toMatchObject({ rev: 3, head: "going on" });
      }
      await heads.delete(ID, isPutRight ? 3 : rev);
      expect(await readdir(dirname(fixture.folder))).toEqual([]);
    }
  });

  it("refuse what is too large", async () => {
    const { heads } = fixture.reopen();
    await expect(heads.cas(ID, "x".repeat(65 * 1024 * 1024), 0)).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    expect(await heads.get(ID)).toBeUndefined();
  });

  it("stay as they are when the disk is full", async (context) => {
    const disk = await fixture.mount();
    if (typeof disk === "string") return context.skip(disk);
    const { heads } = new DiskStore(disk.dir);
    await heads.cas(ID, "before", 0);
    const filler = await fillDisk(disk.dir);
    const full = { code: "IO_ERROR", remedy: expect.stringContaining("free some space") };
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(heads.cas(ID, "x".repeat(8000), 1)).rejects.toMatchObject(full);
    }
    expect((await readdir(heads.folderOf(ID))).filter((name) => name.startsWith("temp-"))).toEqual(
      [],
    );
    expect(await new DiskStore(disk.dir).heads.get(ID)).toEqual({ rev: 1, head: "before" });
    await rm(filler);
    expect(await heads.cas(ID, "after", 1)).toBe(2);
  });
});
