import {
  appendFileSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { QUICK_PLACE, WorkspaceFixture } from "../../../test/support/notebook/workspace-fixture.js";
import type { Scan } from "./scan.js";
import type { Workspace } from "./workspace.js";

let fixture: WorkspaceFixture;
let workspace: Workspace;

beforeEach(() => {
  fixture = new WorkspaceFixture();
  workspace = fixture.open();
});
afterEach(() => fixture[Symbol.dispose]());

const inside = (name: string) => join(workspace.path, name);
const since = async (before: Scan) => (await workspace.changesSince(before)).changes;

describe("changes of a workspace", () => {
  it("are none where nothing was written", async () => {
    writeFileSync(inside("a"), "x");
    const nothing = { created: [], changed: [], deleted: [] };
    expect(await since(await workspace.scan())).toEqual(nothing);
  });

  it("are what was created, changed and deleted, sorted", async () => {
    mkdirSync(inside("folder"));
    for (const name of ["kept", "folder/grown", "gone", "moved"]) writeFileSync(inside(name), "x");
    const before = await workspace.scan();
    for (const name of ["z", "folder/new"]) writeFileSync(inside(name), "x");
    symlinkSync("kept", inside("link"));
    mkdirSync(inside("empty"));
    appendFileSync(inside("folder/grown"), "y");
    unlinkSync(inside("gone"));
    renameSync(inside("moved"), inside("folder/moved"));
    expect(await since(before)).toEqual({
      created: ["folder/moved", "folder/new", "link", "z"],
      changed: ["folder/grown"],
      deleted: ["gone", "moved"],
    });
  });

  it("are seen where size and time were set back, and where another file took the place", async () => {
    for (const name of ["same", "swapped"]) {
      writeFileSync(inside(name), "old");
      utimesSync(inside(name), 1_000, 1_000);
    }
    const before = await workspace.scan();
    // Clocks of file systems may stand still for some milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 30));
    writeFileSync(inside("same"), "new");
    utimesSync(inside("same"), 1_000, 1_000);
    writeFileSync(inside("other"), "new");
    renameSync(inside("other"), inside("swapped"));
    expect((await since(before)).changed).toEqual(["same", "swapped"]);
  });

  it("are listed up to a bound, and the rest is counted", async () => {
    const before = await workspace.scan();
    for (let index = 0; index < 1_005; index++) writeFileSync(inside(`f${index}`), "");
    const { created, omitted } = await since(before);
    expect([created.length, omitted]).toEqual([1_000, 5]);
  });

  it("name no deletions where not all can be seen", async () => {
    writeFileSync(inside("a"), "");
    const before = await workspace.scan();
    const nested = Array.from({ length: 70 }, () => "d").join("/");
    mkdirSync(inside(nested), { recursive: true });
    unlinkSync(inside("a"));
    expect(await since(before)).toEqual({ created: [], changed: [], deleted: [], omitted: 1 });
  });

  it("are counted no further than a bound", async () => {
    using quick = new WorkspaceFixture(16, QUICK_PLACE);
    const crowded = quick.open();
    for (let folder = 0; folder < 41; folder++) {
      mkdirSync(join(crowded.path, `d${folder}`));
      for (let index = 0; index < 1_000; index++) {
        symlinkSync("x", join(crowded.path, `d${folder}`, `${index}`));
      }
    }
    const { files, isWhole } = await crowded.usage();
    expect([files, isWhole]).toEqual([40_000, false]);
    const listing = await crowded.files();
    expect([listing.files.length, listing.isCut]).toEqual([10_000, true]);
  });
});
