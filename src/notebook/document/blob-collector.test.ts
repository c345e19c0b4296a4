import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { DiskBlobs } from "../store/disk-blobs.js";
import { type BlobRef, blobKey } from "../store/store.js";
import { BlobCollector } from "./blob-collector.js";

describe("a blob collector", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function open() {
    const folder = mkdtempSync(join(tmpdir(), "cellar-blobs-"));
    folders.push(folder);
    const referred = new Set<string>();
    const doubt = { is: false };
    const blobs = new DiskBlobs(folder, { generation: "generation-1" });
    const blobCollector = new BlobCollector(blobs, () => (doubt.is ? undefined : referred));
    return { blobCollector, referred, doubt, folder };
  }

  it("deletes what nothing refers to any more", async () => {
    const { blobCollector, referred } = open();
    const [one, two] = await Promise.all(
      ["one", "two"].map((text) => blobCollector.blobs.put(Buffer.from(text))),
    );
    referred.add(blobKey(two as BlobRef));
    blobCollector.discard([one as BlobRef, two as BlobRef]);
    await blobCollector.settle();
    expect(await blobCollector.blobs.has(one as BlobRef)).toBe(false);
    expect(await blobCollector.blobs.has(two as BlobRef)).toBe(true);
  });

  it("keeps content that comes in while it is to go", async () => {
    const { blobCollector, referred } = open();
    const ref = await blobCollector.blobs.put(Buffer.from("same"));
    await blobCollector.upload(async () => {
      const again = await blobCollector.blobs.put(Buffer.from("same"));
      blobCollector.discard([ref]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await blobCollector.blobs.has(again)).toBe(true);
      referred.add(blobKey(again));
    });
    await blobCollector.settle();
    expect(await blobCollector.blobs.has(ref)).toBe(true);
  });

  it("lets an upload wait for a deletion that has begun", async () => {
    const { blobCollector, referred } = open();
    const ref = await blobCollector.blobs.put(Buffer.from("same"));
    blobCollector.discard([ref]);
    await blobCollector.upload(async () => {
      referred.add(blobKey(await blobCollector.blobs.put(Buffer.from("same"))));
    });
    await blobCollector.settle();
    expect(await blobCollector.blobs.has(ref)).toBe(true);
  });

  it("sweeps what was left under the generations that it is given, and no others", async () => {
    const { blobCollector, referred, folder } = open();
    const put = (generation: string, text: string) =>
      new DiskBlobs(folder, { generation }).put(Buffer.from(text));
    const kept = await put("generation-0", "kept");
    const left = await put("generation-0", "left");
    const later = await put("generation-2", "left");
    const bare = await new DiskBlobs(folder).put(Buffer.from("left"));
    referred.add(blobKey(kept));
    blobCollector.sweep(["", "generation-0"]);
    await blobCollector.settle();
    const isThere = [kept, left, later, bare].map((ref) => blobCollector.blobs.has(ref));
    expect(await Promise.all(isThere)).toEqual([true, false, true, false]);
  });

  it("deletes nothing while it is not known what the head stands on", async () => {
    const { blobCollector, doubt } = open();
    const ref = await blobCollector.blobs.put(Buffer.from("maybe"));
    doubt.is = true;
    blobCollector.discard([ref]);
    await blobCollector.settle();
    expect(await blobCollector.blobs.has(ref)).toBe(true);
    doubt.is = false;
    blobCollector.discard([]);
    await blobCollector.settle();
    expect(await blobCollector.blobs.has(ref)).toBe(false);
  });
});
