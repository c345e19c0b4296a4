import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  call,
  execute,
  ServiceFixture,
  textOf,
} from "../../test/support/notebook/service-fixture.js";

const fixture = new ServiceFixture();

const ipynbSchema = z.object({
  nbformat: z.literal(4),
  cells: z.array(z.object({ source: z.array(z.string()) })),
});

describe("create_notebook", () => {
  it("makes one under a given name or a new one", async () => {
    const service = await fixture.open();
    const named = await call(service, "create_notebook", { session: "mine" });
    expect(named.structured).toMatchObject({ session: "mine", isolation: service.isolation.level });
    const other = await call(service, "create_notebook");
    const { session } = other.structured as { session: string };
    expect((await service.list()).map((one) => one.session)).toEqual(
      expect.arrayContaining(["mine", session]),
    );
  });

  it("refuses a name that is taken, and says how to go on", async () => {
    const service = await fixture.open();
    await execute(service, "twice", "x = 1");
    const refused = await call(service, "create_notebook", { session: "twice" });
    expect(refused.refusal?.code).toBe("CONFLICT");
    expect(textOf(refused)).toContain("session=twice");
    expect((await execute(service, "twice", "x")).text).toContain("1");
  });
});

describe("list_notebooks and show_notebook", () => {
  it("list a hundred at a time, and tell how many more there are", async () => {
    const service = await fixture.open({ user: "collector" });
    const { DiskStore } = await import("../notebook/store/disk-store.js");
    const { newDocument } = await import("../notebook/document/fork.js");
    const { savedHead } = await import("../notebook/document/head.js");
    const { currentOwner } = await import("../notebook/store/owner.js");
    const { records: _, ...document } = newDocument(currentOwner());
    const head = savedHead({ ...document, owner: null, cells: [] });
    const { heads } = new DiskStore(fixture.dir);
    for (let at = 0; at < 103; at++) {
      await heads.cas({ user: "collector", session: `s${at}` }, head, 0);
    }
    const first = await call(service, "list_notebooks");
    expect(first.structured).toMatchObject({ more: 3 });
    expect(textOf(first)).toContain("[3 more: offset=100]");
    const rest = await call(service, "list_notebooks", { offset: 100 });
    expect((rest.structured as { notebooks: unknown[] }).notebooks).toHaveLength(3);
  });

  it("show cells in brief, and which are left out", async () => {
    const service = await fixture.open();
    for (const code of ["a = 1", "print('b' * 5000)", "1 / 0"])
      await execute(service, "brief", code);
    const all = await call(service, "show_notebook", { session: "brief" });
    expect(textOf(all)).toContain("cell 3 · ERROR\n> 1 / 0\nZeroDivisionError: division by zero");
    expect(textOf(all)).toContain("4,700 characters left out");
    expect(textOf(all).length).toBeLessThan(2_000);
    const part = await call(service, "show_notebook", { session: "brief", offset: 1, limit: 1 });
    expect(part.structured).toMatchObject({ cells: [{ number: 2 }], more: 1 });
    expect(textOf(part)).toContain("[1 more cell: offset=2]");
  });

  it("tell how much of a very long output there is, without reading it", async () => {
    const service = await fixture.open();
    await execute(service, "huge", "print('h' * 1_000_000)\nfor i in range(3): print(i)\n7");
    const answer = await call(service, "show_notebook", { session: "huge" });
    expect(textOf(answer)).toContain("999,707 characters left out]\n[1 more output]");
    expect(textOf(answer)).not.toContain("notebook://cell/");
  });

  it("serve notebooks and cells as resources", async () => {
    const service = await fixture.open();
    const { cell } = await execute(service, "served", "print('hello')");
    const book = await service.readResource("notebook://session/served");
    expect(book.text).toContain("> print('hello')\nhello");
    const byId = await service.readResource(`notebook://session/served/cell/${cell.id}`);
    const byNumber = await service.readResource("notebook://session/served/cell/0");
    expect(byId.text).toContain("print('hello')\n\ncell 1 · COMPLETED");
    expect(byNumber.text).toBe(byId.text);
    for (const lost of ["cell/1", "cell/0/output/1", "files/none"]) {
      const reading = service.readResource(`notebook://session/served/${lost}`);
      await expect(reading, lost).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
    const reading = service.readResource("notebook://session/never-made/files/x");
    await expect(reading).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await service.has("never-made")).toBe(false);
  });
});

describe("clear_notebook", () => {
  it("takes cells and variables away, and leaves files", async () => {
    const service = await fixture.open();
    await execute(service, "cleared", "x = 1\nopen('f.txt', 'w').close()");
    const cleared = await call(service, "clear_notebook", { session: "cleared" });
    expect(cleared.structured).toMatchObject({ deleted: 1 });
    const after = await execute(service, "cleared", "x");
    expect(after.cell).toMatchObject({ number: 2, error: { type: "NameError" } });
    const files = await call(service, "list_files", { session: "cleared" });
    expect(textOf(files)).toContain("f.txt");
  });
});

describe("export_ipynb", () => {
  it("links a file for Jupyter that the service serves", async () => {
    const service = await fixture.open();
    await execute(service, "exported", "print('one')\n2");
    const answer = await call(service, "export_ipynb", { session: "exported" });
    const [, link] = answer.parts;
    expect(link).toMatchObject({ type: "resource", name: "exported.ipynb" });
    const { uri, bytes } = answer.structured as { uri: string; bytes: number };
    const { mime, text = "" } = await service.readResource(uri);
    expect(mime).toBe("application/x-ipynb+json");
    expect(Buffer.byteLength(text)).toBe(bytes);
    expect(ipynbSchema.parse(JSON.parse(text)).cells[0]?.source.join("")).toBe("print('one')\n2");
  });
});

describe("undo", () => {
  it("tells what was undone and what can be gone back to", async () => {
    const service = await fixture.open();
    for (const code of ["x = 1", "x = 2", "x = 3"]) await execute(service, "undone", code);
    const answer = await call(service, "undo", { session: "undone", count: 2 });
    expect(answer.structured).toMatchObject({
      undone: [2, 3],
      now: 1,
      points: [
        { cell: null, run: 0 },
        { cell: 1, run: 1 },
      ],
    });
    expect(textOf(answer)).toContain("undone: cells 2, 3; the variables are as after cell 1");
    expect((await execute(service, "undone", "x")).text).toContain("[result]\n1");
  });

  it("says which counts work where one does not", async () => {
    const service = await fixture.open();
    await execute(service, "unknown", "x = 1");
    const refused = await call(service, "undo", { session: "unknown", count: 5 });
    expect(refused.refusal?.code).toBe("CHECKPOINT_GONE");
    expect(textOf(refused)).toContain("These counts work now: 1.");
  });
});

describe("fork_notebook", () => {
  it("gives a copy of its own, and names what did not come along", async () => {
    const service = await fixture.open();
    await execute(service, "origin", "x = [1]\nhandle = open('f.txt', 'w')");
    const answer = await call(service, "fork_notebook", { session: "origin", to: "branch" });
    expect(answer.structured).toMatchObject({ session: "branch", from: "origin", cells: 1 });
    expect(textOf(answer)).toContain("handle was lost: an open file");
    await execute(service, "branch", "x.append(2)");
    expect((await execute(service, "branch", "x")).text).toContain("[1, 2]");
    expect((await execute(service, "origin", "x")).text).toContain("[1]");
    const files = await call(service, "list_files", { session: "branch" });
    expect(textOf(files)).toContain("f.txt");
  });

  it("refuses a name that is taken", async () => {
    const service = await fixture.open();
    await execute(service, "from", "1");
    await execute(service, "here", "1");
    const refused = await call(service, "fork_notebook", { session: "from", to: "here" });
    expect(refused.refusal?.code).toBe("CONFLICT");
  });
});

describe("mark_private", () => {
  it("cuts the network for good and says so", async () => {
    const service = await fixture.open();
    await execute(service, "patients", "1");
    const answer = await call(service, "mark_private", { session: "patients", reason: "names" });
    expect(textOf(answer)).toContain("Private data (names): the network is cut for good.");
    const listed = (await service.list()).find(({ session }) => session === "patients");
    expect(listed?.isPrivate).toBe(true);
  });
});
