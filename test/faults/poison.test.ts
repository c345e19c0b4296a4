import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type NotebookHead,
  parseHead,
  type SnapshotRecord,
  savedHead,
} from "../../src/notebook/document/head.js";
import { DiskStore } from "../../src/notebook/store/disk-store.js";
import type { NotebookId } from "../../src/notebook/store/store.js";
import { NotebookFixture, shown, until } from "../support/notebook/notebook-fixture.js";

/** What Python would run if anybody read it. */
const PICKLE = Buffer.from("cos\nsystem\n(S'touch /workspace/planted'\ntR.");

/** A notebook that is closed: `x` is 1 in the older of its snapshots and 2 in the newer one. */
interface Closed {
  readonly id: NotebookId;
  readonly store: DiskStore;
  readonly snapshots: readonly [SnapshotRecord, SnapshotRecord];
}

describe("a poisoned snapshot", () => {
  const fixture = new NotebookFixture();

  const closed = async (): Promise<Closed> => {
    const { user, session } = fixture.options();
    const nb = await fixture.open({ user, session });
    for (const n of [1, 2]) {
      await nb.run(`x = ${n}`);
      await until(() => nb.state.snapshot?.sequence === n);
    }
    await nb.close();
    const [id, store] = [{ user, session }, new DiskStore(fixture.dir)];
    const [newer, older] = (await headOf(store, id)).snapshots;
    if (newer === undefined || older === undefined) throw new Error("there are no two snapshots");
    return { id, store, snapshots: [newer, older] };
  };

  const pathOf = ({ id, store }: Closed, { blob }: SnapshotRecord): string =>
    store.blobs(id).locate?.(blob) ?? "";

  /** It is told, the older one is used, nothing was run, and the cell after it can be replayed. */
  const expectOlder = async ({ id }: Closed, reason: RegExp): Promise<void> => {
    const nb = await fixture.open(id);
    expect(nb.state).toMatchObject({
      restored: 1,
      ranAfter: [2],
      refused: [{ sequence: 2, reason: expect.stringMatching(reason) }],
    });
    const cell = await nb.run("import os\n(x, os.listdir('/workspace'))");
    expect(shown(cell)).toBe("(1, [])");
    expect(cell.notes?.join("\n")).toMatch(/the snapshot after cell 2 was not used/);
    expect((await nb.replay()).map(({ number, index }) => [number, index])).toEqual([[4, 1]]);
    expect(shown(await nb.run("x"))).toBe("2");
    await nb.close();
  };

  const damages: Readonly<Record<string, (path: string, closed: Closed) => unknown>> = {
    "has a wrong bit": (path) => {
      const bytes = readFileSync(path);
      bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
      writeFileSync(path, bytes);
    },
    "is cut off": (path) => truncateSync(path, 20),
    "is empty": (path) => truncateSync(path, 0),
    "is the older one under its name": (path, all) =>
      copyFileSync(pathOf(all, all.snapshots[1]), path),
    "is that of another session under its name": async (path) => {
      const other = await closed();
      copyFileSync(pathOf(other, other.snapshots[0]), path);
    },
    "is a pickle under its name": (path) => writeFileSync(path, PICKLE),
  };

  for (const [what, damage] of Object.entries(damages)) {
    it(`that ${what} is refused and kept aside`, async () => {
      const all = await closed();
      const path = pathOf(all, all.snapshots[0]);
      await damage(path, all);
      const poison = readFileSync(path);
      await expectOlder(all, /damaged/);
      const folder = join(path, "..", "..");
      const aside = readdirSync(folder).filter((name) => name.startsWith("damaged-"));
      expect(aside).toHaveLength(1);
      expect(readFileSync(join(folder, aside[0] ?? ""))).toEqual(poison);
    });
  }

  it("that is gone is told", async () => {
    const all = await closed();
    rmSync(pathOf(all, all.snapshots[0]));
    await expectOlder(all, /not stored/);
  });

  /** Records as one could write them who can write a head, but does not have the key. */
  const forgeries: Readonly<Record<string, (closed: Closed) => Promise<SnapshotRecord>>> = {
    "is a pickle without a seal": async ({ id, store, snapshots: [newer] }) => {
      return { ...newer, blob: await store.blobs(id).put(PICKLE), seal: "" };
    },
    "is a pickle with a seal that was made up": async ({ id, store, snapshots: [newer] }) => {
      const seal = randomBytes(32).toString("hex");
      return { ...newer, blob: await store.blobs(id).put(PICKLE), seal };
    },
    "is a pickle with the seal of the right one": async ({ id, store, snapshots: [newer] }) => {
      return { ...newer, blob: await store.blobs(id).put(PICKLE) };
    },
    "has the seal of another point of the timeline": async ({ snapshots: [newer, older] }) => {
      return { ...older, sequence: newer.sequence };
    },
    "is that of another session with its seal": async ({ id, store }) => {
      const other = await closed();
      const [record] = other.snapshots;
      await store.blobs(id).adopt?.(record.blob, other.store.blobs(other.id));
      return record;
    },
  };

  for (const [what, forge] of Object.entries(forgeries)) {
    it(`that ${what} is refused and kept`, async () => {
      const all = await closed();
      const { id, store, snapshots } = all;
      const forged = await forge(all);
      await rewrite(store, id, (head) => ({ ...head, snapshots: [forged, snapshots[1]] }));
      await expectOlder(all, /seal/);
      const { aside } = await headOf(store, id);
      expect(aside.map(({ snapshot }) => snapshot)).toEqual([forged]);
      const nb = await fixture.open(id);
      await nb.close();
      expect(await store.blobs(id).has(forged.blob)).toBe(true);
    });
  }

  it("leaves empty variables where there is no other, and never a silent loss", async () => {
    const all = await closed();
    for (const snapshot of all.snapshots) writeFileSync(pathOf(all, snapshot), PICKLE);
    const nb = await fixture.open(all.id);
    expect(nb.state).toMatchObject({
      restored: null,
      snapshot: null,
      ranAfter: [1, 2],
      refused: [{ sequence: 2 }, { sequence: 1 }],
    });
    const cell = await nb.run("'x' in globals()");
    expect(shown(cell)).toBe("False");
    expect(cell.notes?.join("\n")).toMatch(/cells 1, 2 are missing/);
    await nb.replay();
    expect(shown(await nb.run("x"))).toBe("2");
  });

  it("is of no use to one who has another key", async () => {
    const all = await closed();
    writeFileSync(join(fixture.dir, "key"), randomBytes(32));
    const nb = await fixture.open(all.id);
    expect(nb.state.refused).toHaveLength(2);
    expect(nb.state).toMatchObject({ restored: null, ranAfter: [1, 2] });
  });
});

async function headOf(store: DiskStore, id: NotebookId): Promise<NotebookHead> {
  return parseHead((await store.heads.get(id))?.head, id.session);
}

async function rewrite(
  store: DiskStore,
  id: NotebookId,
  change: (head: NotebookHead) => NotebookHead,
): Promise<void> {
  const stored = await store.heads.get(id);
  await store.heads.cas(
    id,
    savedHead(change(parseHead(stored?.head, id.session))),
    stored?.rev ?? 0,
  );
}
