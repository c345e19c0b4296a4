import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NotebookFixture, SETTINGS } from "../../test/support/notebook/notebook-fixture.js";
import { NativeRuntime } from "../backends/native/runtime.js";
import { MAX_SOURCE_BYTES } from "../protocol/bounds.js";
import { Notebook } from "./notebook.js";
import { DiskStore } from "./store/disk-store.js";

const PIXEL = Buffer.from("\x89PNG\r\n\x1a\npixel", "latin1").toString("base64");
const image = { output_type: "display_data", data: { "image/png": PIXEL }, metadata: {} };
const ipynb = (...sources: string[]) =>
  JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: sources.map((source) => ({
      cell_type: "code",
      metadata: {},
      source,
      outputs: [image],
    })),
  });

describe("a notebook that cannot be opened", () => {
  const runtime = new NativeRuntime({ walls: false });
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "cellar-leftovers-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

  const options = () => ({ user: "u1", session: "s1", dir, runtime, ...SETTINGS });
  const left = async () => [await Notebook.list({ dir }), readdirSync(join(dir, "rooms"))];

  it("is not made", async () => {
    await expect(Notebook.open(options())).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
    expect(await left()).toEqual([[], []]);
    const importing = Notebook.importIpynb(ipynb("1"), options());
    await expect(importing).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
    expect(await left()).toEqual([[], []]);
  });

  it("stays where it was there before", async () => {
    const nb = await Notebook.open({ ...options(), minIsolation: "L0" });
    await nb.run("1");
    await nb.close();
    await expect(Notebook.open(options())).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
    expect(await Notebook.list({ dir })).toMatchObject([{ cells: 1, owner: null }]);
  });

  it("leaves nothing of a file that could not be imported", async () => {
    const file = ipynb("1", `"${"x".repeat(MAX_SOURCE_BYTES)}"`);
    await expect(Notebook.importIpynb(file, options())).rejects.toMatchObject({
      code: "TOO_LARGE",
      remedy: expect.stringContaining("Split that cell"),
    });
    const id = { user: "u1", session: "s1" };
    const blobs: unknown[] = [];
    for await (const ref of new DiskStore(dir).blobs(id).list()) blobs.push(ref);
    expect(blobs).toEqual([]);
    expect(await Notebook.list({ dir })).toEqual([]);
  });

  it("says what is wrong with its folder", async () => {
    writeFileSync(join(dir, "file"), "");
    for (const wrong of [join(dir, "file"), join(dir, "file", "below"), "/proc/nope/below"]) {
      await expect(Notebook.open({ ...options(), dir: wrong })).rejects.toMatchObject({
        code: "IO_ERROR",
        remedy: expect.stringMatching(/choose (a|another) folder/),
      });
    }
    await expect(Notebook.open({ ...options(), dir: "" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      remedy: expect.any(String),
    });
  });
});

describe("a notebook of which nothing can be read", () => {
  const fixture = new NotebookFixture();

  const rooms = () =>
    readdirSync(join(fixture.dir, "rooms")).filter((name) => !name.startsWith("spare-")).length;

  async function spoiled(change: (path: string) => void) {
    const options = fixture.options();
    const nb = await Notebook.open(options);
    await nb.putFile("file", "content");
    await nb.run("1");
    await nb.close();
    const folder = join(fixture.dir, "notebooks", options.user, options.session);
    const heads = readdirSync(folder).filter((name) => name.startsWith("head-"));
    for (const name of heads) change(join(folder, name));
    return { options, folder };
  }

  it("can be removed with its files, and others keep theirs", async () => {
    const other = await fixture.open();
    await other.putFile("file", "other");
    const { options, folder } = await spoiled((path) => writeFileSync(path, "{"));
    const before = rooms();
    await expect(Notebook.open(options)).rejects.toMatchObject({ code: "DAMAGED" });
    await Notebook.remove(options);
    expect(existsSync(folder)).toBe(false);
    expect(rooms()).toBe(before - 1);
    expect((await other.getFile("file")).toString()).toBe("other");
    const fresh = fixture.keep(await Notebook.open(options));
    expect([fresh.cells, (await fresh.files()).files]).toEqual([[], []]);
  });

  it("is not removed where a newer version could read it", async () => {
    const newer = `{"format":99,"checksum":"${"0".repeat(64)}","body":{}}\n`;
    const { options, folder } = await spoiled((path) => writeFileSync(path, newer));
    await expect(Notebook.remove(options)).rejects.toMatchObject({ code: "DAMAGED" });
    expect(existsSync(folder)).toBe(true);
  });
});
