import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cellWith, PNG } from "../../../test/support/notebook/notebook-content.js";
import { DiskStore } from "../store/disk-store.js";
import { currentOwner } from "../store/owner.js";
import { recordOf } from "./cell-records.js";
import { newDocument } from "./fork.js";
import { Journal } from "./journal.js";
import { NotebookView } from "./view.js";

const ID = { user: "ann", session: "sales" };

describe("a notebook that is only looked at", () => {
  let folder = "";
  let store: DiskStore;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
    store = new DiskStore(folder);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

  /** Two cells, the second with an image. */
  async function make(): Promise<void> {
    const owner = currentOwner();
    const blobs = store.blobs(ID);
    const uri = "notebook://cell/1/image/0";
    const picture = {
      type: "IMAGE",
      mime: "image/png",
      uri,
      text: "dot",
      isResult: false,
    } as const;
    const cells = [
      cellWith(0, "x = 1", [{ type: "TEXT", stream: "stdout", text: "y".repeat(10_000) }]),
      {
        ...cellWith(1, "plot()", [{ ...picture, metadata: {} }]),
        resources: [{ uri, mime: "image/png", blob: await blobs.put(PNG) }],
      },
    ];
    const records = await Promise.all(cells.map((cell) => recordOf(cell, blobs)));
    const document = { ...newDocument(owner), records };
    await Journal.create({ store, id: ID, owner, takeover: false }, document);
  }

  it("gives cells and resources while somebody has it open", async () => {
    await make();
    const view = await NotebookView.read(store, ID);
    expect(view.cells.map(({ code }) => code)).toEqual(["x = 1", "plot()"]);
    expect(view.cell(2).outputs[0]).toMatchObject({ type: "IMAGE" });
    expect(await view.resource("notebook://cell/1/image/0")).toEqual({
      mime: "image/png",
      bytes: PNG,
    });
  });

  it("changes nothing", async () => {
    await make();
    const before = readdirSync(folder, { recursive: true }).sort();
    await NotebookView.read(store, ID);
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(before);
  });

  it("tells what is not there", async () => {
    await expect(NotebookView.read(store, ID)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await make();
    const view = await NotebookView.read(store, ID);
    expect(() => view.cell(3)).toThrow(/no cell 3/);
    await expect(view.resource("notebook://cell/0/image/0")).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await expect(view.resource("file:///etc/passwd")).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  });
});
