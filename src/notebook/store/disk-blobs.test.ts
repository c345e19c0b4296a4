import {
  access,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fillDisk, StoreFixture } from "../../../test/support/notebook/store-fixture.js";
import { DiskBlobs } from "./disk-blobs.js";
import { TempNames } from "./disk-folders.js";
import type { BlobRef } from "./store.js";

async function* large(): AsyncGenerator<Uint8Array> {
  for (let part = 0; part < 40; part += 1) yield Buffer.alloc(64 * 1024, part);
}

describe("blobs on a disk", () => {
  let fixture: StoreFixture;
  let root: string;
  let blobs: DiskBlobs;
  beforeEach(async () => {
    fixture = await StoreFixture.open();
    root = join(fixture.dir, "blobs");
    blobs = new DiskBlobs(root);
  });
  afterEach(() => fixture[Symbol.asyncDispose]());
  const read = (ref: BlobRef) => buffer(blobs.get(ref));
  const files = async () => (await readdir(root)).filter((name) => name.length > 2);

  it("can be read by others who are handed one, behind closed folders", async () => {
    const umask = process.umask(0o077);
    try {
      const ref = await blobs.put(Buffer.from("x"));
      expect(blobs.locate(ref)).toBe(join(root, ref.sha256.slice(0, 2), ref.sha256));
      expect((await stat(blobs.locate(ref))).mode & 0o777).toBe(0o644);
      for (const folder of [root, dirname(blobs.locate(ref))]) {
        expect((await stat(folder)).mode & 0o777).toBe(0o700);
      }
    } finally {
      process.umask(umask);
    }
  });

  const damages: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    "have a wrong bit": async (path) => {
      const content = await readFile(path);
      content.writeUInt8(content.readUInt8(0) ^ 1, 0);
      await writeFile(path, content);
    },
    "are cut off": async (path) => writeFile(path, (await readFile(path)).subarray(1)),
    "are longer": async (path) =>
      writeFile(path, Buffer.concat([await readFile(path), Buffer.of(0)])),
    "are gone but for an empty file": (path) => writeFile(path, ""),
  };

  for (const [what, damage] of Object.entries(damages)) {
    it(`are never given whole when they ${what}, and can be put again`, async () => {
      const ref = await blobs.put(large());
      await damage(blobs.locate(ref));
      let given = 0;
      const reading = (async () => {
        for await (const chunk of blobs.get(ref)) given += (chunk as Buffer).length;
      })();
      await expect(reading).rejects.toMatchObject({
        code: "DAMAGED",
        remedy: expect.stringContaining("damaged-"),
      });
      expect(given).toBeLessThan(ref.bytes);
      expect(await files()).toEqual([expect.stringMatching(`^damaged-${ref.sha256}-`)]);
      expect(await blobs.has(ref)).toBe(false);
      expect(await blobs.put(large())).toEqual(ref);
      expect((await read(ref)).length).toBe(ref.bytes);
      expect(await files()).toHaveLength(1);
    });
  }

  it("put aside what lies in the way and has another size", async () => {
    const ref = await blobs.put(Buffer.from("right"));
    await writeFile(blobs.locate(ref), "wrong!");
    expect(await blobs.put(Buffer.from("right"))).toEqual(ref);
    expect(String(await read(ref))).toBe("right");
    const [kept = ""] = await files();
    expect(await readFile(join(root, kept), "utf8")).toBe("wrong!");
  });

  it("are not read through a link", async () => {
    const ref = await blobs.put(Buffer.from("secret"));
    await rename(blobs.locate(ref), join(fixture.dir, "elsewhere"));
    await symlink(join(fixture.dir, "elsewhere"), blobs.locate(ref));
    expect(await blobs.has(ref)).toBe(false);
    await expect(read(ref)).rejects.toMatchObject({ code: "IO_ERROR" });
  });

  it("let go of a file that is not read to its end", async () => {
    const ref = await blobs.put(large());
    const stream = blobs.get(ref);
    for await (const _ of stream) break;
    expect(stream.destroyed).toBe(true);
    expect(await blobs.has(ref)).toBe(true);
  });

  it("are swept of what the dead have left", async () => {
    await blobs.put(Buffer.from("x"));
    const left = new TempNames().next().replace(/^temp-\d+-/, "temp-999999999-");
    await writeFile(join(root, left), "half");
    await new DiskBlobs(root).put(Buffer.from("y"));
    expect(await files()).toEqual([]);
  });

  it("are shared with another store on the same disk", async () => {
    const ref = await blobs.put(Buffer.from("shared"));
    const other = new DiskBlobs(join(fixture.dir, "other", "blobs"));
    expect(await other.adopt(ref, blobs)).toBe(true);
    expect((await stat(other.locate(ref))).ino).toBe((await stat(blobs.locate(ref))).ino);
  });

  it("are copied to another disk", async (context) => {
    const shared = await access("/dev/shm").then(
      () => true,
      () => false,
    );
    if (!shared) return context.skip("there is no second disk here");
    const dir = await mkdtemp("/dev/shm/cellar-store-");
    try {
      const ref = await blobs.put(large());
      const other = new DiskBlobs(join(dir, "blobs"));
      expect(await other.adopt(ref, blobs)).toBe(true);
      await blobs.delete(ref);
      expect((await buffer(other.get(ref))).length).toBe(ref.bytes);
      expect((await stat(other.locate(ref))).mode & 0o777).toBe(0o644);
      expect((await readdir(join(dir, "blobs"))).filter((name) => name.length > 2)).toEqual([]);
    } finally {
      await rm(dir, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  it("leave nothing behind when the disk is full", async (context) => {
    const disk = await fixture.mount();
    if (typeof disk === "string") return context.skip(disk);
    root = join(disk.dir, "blobs");
    const small = new DiskBlobs(root);
    const full = { code: "IO_ERROR", remedy: expect.stringContaining("free some space") };
    await expect(small.put(large())).rejects.toMatchObject(full);
    expect(await files()).toEqual([]);
    const ref = await small.put(Buffer.from("fits"));
    const filler = await fillDisk(disk.dir);
    await expect(small.put(Buffer.alloc(8000, 1))).rejects.toMatchObject(full);
    expect(await files()).toEqual([]);
    expect(String(await buffer(small.get(ref)))).toBe("fits");
    await rm(filler);
    await small.put(Buffer.alloc(8000, 1));
  });
});
