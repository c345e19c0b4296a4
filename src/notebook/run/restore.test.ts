import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NativePythonSandbox } from "../../backends/native/sandbox.js";
import { isCellarError } from "../../errors.js";
import type { SnapshotRecord } from "../document/head.js";
import { DiskBlobs } from "../store/disk-blobs.js";
import { Seal } from "../store/seal.js";
import { type RestorePlan, restoreFirst } from "./restore.js";

const ID = { user: "ann", session: "one" };

describe("a state that is restored", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "cellar-restoration-"));
    mkdirSync(join(dir, "room"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

  const stateFile = () => join(dir, "room", "state");

  async function planned(restore: () => Promise<unknown>) {
    const blobs = new DiskBlobs(join(dir, "blobs"));
    const seal = await Seal.open(dir);
    const blob = await blobs.put(Buffer.from("state"));
    const sha256 = createHash("sha256").update("state").digest("hex");
    const snapshot: SnapshotRecord = {
      sequence: 1,
      at: "",
      blob,
      seal: seal.sign({ ...ID, seq: 1, sha256 }),
      manifest: { ...blob },
    };
    const destroy = vi.fn(async () => {});
    const createSandbox = vi.fn(
      async () => ({ restore, destroy }) as unknown as NativePythonSandbox,
    );
    const sessionDir = { root: dir, name: "room", hasEgress: false };
    const plan: RestorePlan = { id: ID, blobs, seal, sessionFiles: { sessionDir, createSandbox } };
    return { plan, snapshot, createSandbox, destroy };
  }

  it("leaves no session behind where the disk fails before it", async () => {
    mkdirSync(stateFile());
    const { plan, snapshot, createSandbox, destroy } = await planned(async () => ({}));
    await expect(restoreFirst(plan, [snapshot], [])).rejects.toSatisfy((error) =>
      isCellarError(error, "IO_ERROR"),
    );
    expect(destroy.mock.calls.length).toBe(createSandbox.mock.calls.length);
  });

  it("leaves no session behind where the disk fails after it", async () => {
    const { plan, snapshot, createSandbox, destroy } = await planned(async () => {
      rmSync(stateFile());
      mkdirSync(stateFile());
      return {};
    });
    await expect(restoreFirst(plan, [snapshot], [])).rejects.toSatisfy((error) =>
      isCellarError(error, "IO_ERROR"),
    );
    expect(createSandbox).toHaveBeenCalledOnce();
    expect(destroy).toHaveBeenCalledOnce();
  });
});
