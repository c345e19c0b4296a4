import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cellWith } from "../../../test/support/notebook/notebook-content.js";
import { DiskStore } from "../store/disk-store.js";
import { currentOwner } from "../store/owner.js";
import type { BlobRef, BlobStore, NotebookStore } from "../store/store.js";
import { recordOf } from "./cell-records.js";
import { newDocument } from "./fork.js";
import { blobsIn, Journal, readDocument } from "./journal.js";
import { removeNotebook } from "./list.js";

const ID = { user: "ann", session: "sales" };
const LONG = "y".repeat(10_000);

/** Holds back what a stopped process would have done next. */
class Gate {
  open: () => void = () => {};
  readonly passed = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

describe("a former owner of a notebook", () => {
  let dir = "";
  let store: NotebookStore;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "cellar-test-"));
    store = new DiskStore(dir);
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

  const open = (through = store, takeover = false) => {
    const owner = currentOwner();
    return Journal.open({
      store: through,
      id: ID,
      owner,
      takeover,
      create: () => newDocument(owner),
    });
  };

  /** A cell with this output as the last one, after those before its number. */
  const save = (journal: Journal, number: number, text: string) =>
    journal.blobCollector.upload(async () => {
      const outputs = [{ type: "TEXT", stream: "stdout", text } as const];
      const cell = { ...cellWith(number, "show()", outputs), id: `cell-${number}` };
      const record = await recordOf(cell, journal.blobCollector.blobs);
      await journal.commit((now) => ({
        ...now,
        records: [...now.records.slice(0, number), record],
      }));
    });

  /** All that a later opening finds. */
  const expectWhole = async (texts: readonly string[]): Promise<void> => {
    const stored = await store.heads.get(ID);
    if (stored === undefined) throw new Error("nothing is saved");
    const document = await readDocument(stored, { store, id: ID });
    expect(document.records.map(({ isDamaged = false }) => isDamaged)).toEqual(
      texts.map(() => false),
    );
    expect(document.records.map(({ cell }) => cell.outputs[0])).toMatchObject(
      texts.map((text) => ({ text })),
    );
    for (const ref of blobsIn(document)) await buffer(store.blobs(ID).get(ref));
  };

  /** The same store, in which something of the blobs happens only when the gate opens. */
  const gated = (gate: Gate, part: "list" | "delete"): NotebookStore => ({
    heads: store.heads,
    blobs: (id, generation) => {
      const blobs: BlobStore = store.blobs(id, generation);
      async function* list(...given: Parameters<BlobStore["list"]>): AsyncIterable<BlobRef> {
        if (part === "list") await gate.passed;
        yield* blobs.list(...given);
      }
      const remove = async (ref: BlobRef) => {
        if (part === "delete") await gate.passed;
        await blobs.delete(ref);
      };
      return {
        put: (source) => blobs.put(source),
        get: (ref) => blobs.get(ref),
        has: (ref) => blobs.has(ref),
        generations: () => blobs.generations(),
        delete: remove,
        list,
      };
    },
  });

  it("who sweeps late takes away nothing that the next one has saved", async () => {
    const first = await open();
    await save(first, 0, `${LONG}0`);
    await first.release();
    const gate = new Gate();
    const former = await open(gated(gate, "list"));
    const next = await open(store, true);
    await save(next, 1, `${LONG}1`);
    await save(next, 2, `${LONG}2`);
    gate.open();
    await former.blobCollector.settle();
    await expectWhole([`${LONG}0`, `${LONG}1`, `${LONG}2`]);
    await next.release();
    await expect(former.commit((now) => ({ ...now }))).rejects.toMatchObject({ code: "CONFLICT" });
    await expectWhole([`${LONG}0`, `${LONG}1`, `${LONG}2`]);
  });

  it("who deletes late takes away no bytes that the next one has saved again", async () => {
    const gate = new Gate();
    const former = await open(gated(gate, "delete"));
    await save(former, 0, `${LONG}same`);
    // What the cell had shown is let go of, but not deleted yet.
    await save(former, 0, "short");
    const next = await open(store, true);
    await save(next, 0, `${LONG}same`);
    gate.open();
    await former.blobCollector.settle();
    await expectWhole([`${LONG}same`]);
    await next.release();
    await (await open()).release();
    await expectWhole([`${LONG}same`]);
  });

  /** The same store, in which a notebook is deleted only when the gate opens. */
  const holding = (gate: Gate) => {
    const reached = new Gate();
    const { heads } = store;
    const held: NotebookStore = {
      heads: {
        get: (id) => heads.get(id),
        revision: (id) => heads.revision(id),
        cas: (id, head, expected) => heads.cas(id, head, expected),
        list: (user) => heads.list(user),
        delete: async (id, expected) => {
          reached.open();
          await gate.passed;
          await heads.delete(id, expected);
        },
      },
      blobs: (id, generation) => store.blobs(id, generation),
    };
    return { held, reached: reached.passed };
  };

  it("who removes it late takes away nothing of the one who took it over", async () => {
    const first = await open();
    await save(first, 0, LONG);
    await first.release();
    const gate = new Gate();
    const { held, reached } = holding(gate);
    const removal = removeNotebook({ ...ID, dir, store: held });
    removal.catch(() => {});
    await reached;
    const next = await open(store, true);
    await save(next, 1, `${LONG}1`);
    gate.open();
    await expect(removal).rejects.toMatchObject({ code: "CONFLICT" });
    await save(next, 2, `${LONG}2`);
    await next.release();
    await expectWhole([LONG, `${LONG}1`, `${LONG}2`]);
  });

  it("who takes its making back late takes away nothing of the one who took it over", async () => {
    const gate = new Gate();
    const { held, reached } = holding(gate);
    const maker = await open(held);
    const removal = maker.remove();
    removal.catch(() => {});
    await reached;
    const next = await open(store, true);
    await save(next, 0, LONG);
    gate.open();
    await expect(removal).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("taken over by process"),
    });
    expect(maker.isFenced).toBe(true);
    await next.release();
    await expectWhole([LONG]);
  });

  it("is not followed by one whose content went with it", async () => {
    const maker = currentOwner();
    const blobs = store.blobs(ID, maker.incarnation);
    const outputs = [{ type: "TEXT", stream: "stdout", text: LONG } as const];
    const record = await recordOf({ ...cellWith(0, "show()", outputs), id: "cell-0" }, blobs);
    const other = await open();
    await other.remove();
    const plan = { store, id: ID, owner: maker, takeover: false };
    const document = { ...newDocument(maker), records: [record] };
    await expect(Journal.create(plan, document)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await store.heads.get(ID)).toBeUndefined();
  });

  it("who was only slow leaves nothing that a later opening does not clear away", async () => {
    const former = await open();
    await save(former, 0, LONG);
    const next = await open(store, true);
    await former.blobCollector.blobs.put(Buffer.from("never saved"));
    await save(next, 0, "short");
    await next.release();
    await (await open()).release();
    const left: BlobRef[] = [];
    for await (const ref of store.blobs(ID).list()) left.push(ref);
    expect(left).toEqual([]);
  });
});
