import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NotebookFixture, until } from "../../../test/support/notebook/notebook-fixture.js";
import { parseHead } from "../document/head.js";
import { Notebook } from "../notebook.js";
import { DiskStore } from "../store/disk-store.js";
import type { NotebookId } from "../store/store.js";
import { usersOf } from "./session-dir-users.js";

describe("the session folder of a notebook", () => {
  const fixture = new NotebookFixture();
  const headOf = async (id: NotebookId) =>
    parseHead((await new DiskStore(fixture.dir).heads.get(id))?.head, id.session);
  const users = (name: string) => usersOf({ root: join(fixture.dir, "rooms"), name });

  it("is known to be in use as long as anything of its session runs", async () => {
    const options = fixture.options();
    const nb = fixture.keep(await Notebook.open(options));
    await nb.run("import subprocess\nchild = subprocess.Popen(['sleep', '60'])");
    const { sessionDir } = await headOf(options);
    expect((await users(sessionDir)).length).toBeGreaterThan(1);
    expect(await users("0".repeat(32))).toEqual([]);
    await nb.close();
    await until(async () => (await users(sessionDir)).length === 0);
  });
});
