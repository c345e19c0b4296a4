import { describe, expect, it } from "vitest";
import { cellWith } from "../../../test/support/notebook/notebook-content.js";
import { NotebookFixture } from "../../../test/support/notebook/notebook-fixture.js";
import { recordOf } from "../document/cell-records.js";
import { OutputQuota } from "./output-quota.js";

const PICTURE = `
import os
class Picture:
    def _repr_png_(self):
        header = "89504e470d0a1a0a0000000d49484452000000100000001008060000001ff3ff61"
        return bytes.fromhex(header) + os.urandom(400_000)
    def __repr__(self):
        return "a picture"
`;
const MEBIBYTE = 1024 * 1024;

describe("the outputs of a notebook", () => {
  const fixture = new NotebookFixture();

  it("take no more than they may, and what was left out is told", async () => {
    const nb = await fixture.open({ outputsMaxSizeMb: 1 });
    const show = "for _ in range(4): display(Picture())\n";
    const first = await nb.run(`${PICTURE}${show}1 / 0`);
    expect(first.outputs.map(({ type }) => type)).toEqual([
      "IMAGE",
      "IMAGE",
      "TEXT",
      "TEXT",
      "ERROR",
    ]);
    expect(first.outputs[2]).toMatchObject({
      text: expect.stringMatching(/^a picture\n\[left out: image\/png, 400,\d+ bytes\]$/),
    });
    expect(first.notes?.join()).toMatch(/left out 2 outputs .*1 MB in all \(outputsMaxSizeMb\)/);
    const second = await nb.run(`${show}print("x" * 600_000)`);
    expect(second.outputs.map(({ type }) => type)).not.toContain("IMAGE");
    expect(second.notes?.join()).toContain("outputsMaxSizeMb");
    const kept = nb.cells.flatMap(({ resources }) => resources).map(({ blob }) => blob.bytes);
    expect(kept.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(MEBIBYTE);
    // A short text still has room.
    const third = await nb.run("print('hello')");
    expect([third.outputs, third.notes]).toMatchObject([[{ text: "hello\n" }], undefined]);
  });

  it("have room again when a cell runs anew or is deleted", async () => {
    const nb = await fixture.open({ outputsMaxSizeMb: 1 });
    const first = await nb.run(`${PICTURE}display(Picture()); display(Picture())`);
    const again = await nb.rerun(first);
    expect([again.outputs.length, again.notes]).toEqual([2, undefined]);
    const refused = await nb.run("display(Picture())");
    expect(refused.outputs[0]?.type).toBe("TEXT");
    await nb.delete(first);
    const shown = await nb.run("display(Picture())");
    expect([shown.outputs[0]?.type, shown.notes]).toEqual(["IMAGE", undefined]);
  });

  it("count as often as they lie on the disk, in bytes", async () => {
    const blobs = (generation: string) => ({
      put: async () => ({ sha256: "a".repeat(64), bytes: MEBIBYTE / 4, generation }),
    });
    const shown = [{ type: "TEXT", stream: "stdout", text: "y".repeat(10_000) } as const];
    const record = (number: number, generation: string) =>
      recordOf({ ...cellWith(number, "show()", shown), id: `cell-${number}` }, blobs(generation));
    const records = [await record(0, "one"), await record(1, "one"), await record(2, "two")];
    const half = OutputQuota.beside(records, "another", 1);
    expect([half.take(MEBIBYTE / 2 + 1), half.take(MEBIBYTE / 2)]).toEqual([false, true]);
    expect(OutputQuota.beside(records, "cell-2", 1).take((MEBIBYTE * 3) / 4)).toBe(true);

    const wide = [{ type: "TEXT", stream: "stdout", text: "ü".repeat(500) } as const];
    const inline = await recordOf(cellWith(0, "show()", wide), blobs("one"));
    const length = Buffer.byteLength(String(inline.entry.record));
    const rest = OutputQuota.beside([inline], "another", 1);
    expect([rest.take(MEBIBYTE - length + 1), rest.take(MEBIBYTE - length)]).toEqual([false, true]);
  });
});
