import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { DiskBlobs } from "../store/disk-blobs.js";
import type { BlobRef } from "../store/store.js";
import { Vault } from "./vault.js";

describe("a vault", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function open() {
    const folder = mkdtempSync(join(tmpdir(), "cellar-vault-"));
    folders.push(folder);
    const referred = new Set<string>();
    const vault = new Vault(new DiskBlobs(folder), () => referred);
    return { vault, referred };
  }

  it("deletes what nothing refers to any more", async () => {
    const { vault, referred } = open();
    const [one, two] = await Promise.all(
      ["one", "two"].map((text) => vault.blobs.put(Buffer.from(text))),
    );
    referred.add((two as BlobRef).sha256);
    vault.discard([one as BlobRef, two as BlobRef]);
    await vault.settle();
    expect(await vault.blobs.has(one as BlobRef)).toBe(false);
    expect(await vault.blobs.has(two as BlobRef)).toBe(true);
  });

  it("keeps content that comes in while it is to go", async () => {
    const { vault, referred } = open();
    const ref = await vault.blobs.put(Buffer.from("same"));
    await vault.upload(async () => {
      const again = await vault.blobs.put(Buffer.from("same"));
      vault.discard([ref]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await vault.blobs.has(again)).toBe(true);
      referred.add(again.sha256);
    });
    await vault.settle();
    expect(await vault.blobs.has(ref)).toBe(true);
  });

  it("lets an upload wait for a deletion that has begun", async () => {
    const { vault, referred } = open();
    const ref = await vault.blobs.put(Buffer.from("same"));
    vault.discard([ref]);
    await vault.upload(async () => {
      referred.add((await vault.blobs.put(Buffer.from("same"))).sha256);
    });
    await vault.settle();
    expect(await vault.blobs.has(ref)).toBe(true);
  });

  it("sweeps what was left", async () => {
    const { vault, referred } = open();
    const kept = await vault.blobs.put(Buffer.from("kept"));
    const left = await vault.blobs.put(Buffer.from("left"));
    referred.add(kept.sha256);
    vault.sweep();
    await vault.settle();
    expect([await vault.blobs.has(kept), await vault.blobs.has(left)]).toEqual([true, false]);
  });
});
