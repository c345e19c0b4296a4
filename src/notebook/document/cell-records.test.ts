import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Cell } from "../cell.js";
import { DiskBlobs } from "../store/disk-blobs.js";
import { balanced, blobsOf, markUndone, placed, readRecord, recordOf } from "./cell-records.js";

const FIRST = { index: 0, ran: null };
const BLOB = { sha256: "a".repeat(64), bytes: 1 };

function cell(more: Partial<Cell> = {}): Cell {
  return {
    id: "one",
    index: 0,
    number: 1,
    code: "1",
    state: "COMPLETED",
    outputs: [],
    executionCount: 1,
    createdAt: new Date(0).toISOString(),
    executedAt: null,
    duration: 1,
    resources: [],
    ...more,
  };
}

describe("records of a notebook", () => {
  const folder = mkdtempSync(join(tmpdir(), "cellar-records-"));
  const blobs = new DiskBlobs(folder);
  afterAll(() => rmSync(folder, { recursive: true }));

  it("keep short records in the head and long ones in blobs", async () => {
    const short = await recordOf(cell(), blobs);
    expect(typeof short.entry.record).toBe("string");
    const long = await recordOf(cell({ code: "x".repeat(5_000) }), blobs);
    expect(long.entry.record).toMatchObject({ bytes: expect.any(Number) });
    for (const record of [short, long]) {
      expect(await readRecord(record.entry, FIRST, blobs)).toEqual(record);
    }
  });

  it("move the longest records out when they are many", async () => {
    const records = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        recordOf(cell({ id: `c${at}`, code: "x".repeat(3_000) }), blobs),
      ),
    );
    const inline = (list: typeof records) =>
      list.filter(({ entry }) => typeof entry.record === "string").length;
    expect(await balanced(records.slice(0, 30), blobs)).toEqual(records.slice(0, 30));
    const moved = [...(await balanced(records, blobs))];
    expect(inline(moved)).toBeLessThan(30);
    const read = await Promise.all(
      moved.map(({ entry }, at) => readRecord(entry, { index: at, ran: null }, blobs)),
    );
    expect(read.map((record) => record.cell.id)).toEqual(records.map((record) => record.cell.id));
  });

  it("name what a cell refers to by its place", () => {
    const uri = "notebook://cell/3/image/0";
    const from = cell({
      index: 3,
      resources: [{ uri, mime: "image/png", blob: BLOB }],
      outputs: [
        { type: "IMAGE", mime: "image/png", uri, text: "", isResult: true, metadata: {} },
        { type: "TEXT", stream: "stdout", text: `says ${uri}` },
      ],
    });
    const to = placed(from, 1);
    expect(to.resources[0]?.uri).toBe("notebook://cell/1/image/0");
    // What a cell printed is never touched.
    expect(to.outputs).toMatchObject([
      { uri: "notebook://cell/1/image/0" },
      { text: `says ${uri}` },
    ]);
    expect(placed(to, 1)).toBe(to);
  });

  it("carry the mark of undo without a new record", async () => {
    const record = await recordOf(
      cell({ resources: [{ uri: "notebook://cell/0/image/0", mime: "a/b", blob: BLOB }] }),
      blobs,
    );
    const undone = markUndone(record, true);
    expect(undone.entry).toEqual({ ...record.entry, isUndone: true });
    expect((await readRecord(undone.entry, FIRST, blobs)).cell.isUndone).toBe(true);
    expect(markUndone(undone, false)).toEqual(record);
    expect(blobsOf(undone)).toEqual([BLOB]);
  });

  it("that cannot be read say so", async () => {
    for (const kept of ["{", "{}", '{"id":"other"}', { sha256: "b".repeat(64), bytes: 3 }]) {
      const record = await readRecord({ id: "one", record: kept }, { index: 2, ran: 7 }, blobs);
      expect(record).toMatchObject({
        isDamaged: true,
        cell: { index: 2, number: 7, state: "ERROR" },
      });
      expect(record.entry.record).toEqual(kept);
    }
  });
});
