import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../test/support/notebook/notebook-fixture.js";
import {
  call,
  execute,
  ServiceFixture,
  textOf,
} from "../../../test/support/notebook/service-fixture.js";
import { NativeRuntime } from "../../backends/native/runtime.js";
import { instructionsFor } from "../instructions.js";
import { TOOLS } from "../tool-list.js";
import type { NotebookChange, NotebookService } from "./notebook-service.js";

const PACKAGE = new URL("../../../dist/index.js", import.meta.url).href;

const fixture = new ServiceFixture();
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** The sessions that some process has open. */
async function held(service: NotebookService): Promise<string[]> {
  const open = (await service.list()).filter(({ owner }) => owner !== null);
  return open.map(({ session }) => session);
}

/** Another process that holds a notebook until it is ended. */
async function holder(session: string): Promise<ChildProcess> {
  const options = { user: "ann", session, dir: fixture.dir, preload: "none", poolSize: 0 };
  const source = `
    import { Notebook } from ${JSON.stringify(PACKAGE)};
    const nb = await Notebook.open(${JSON.stringify(options)});
    await nb.run("x = 'of another process'\\nprint(x)");
    process.stdout.write("held");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  await once(child.stdout, "data");
  return child;
}

describe("a notebook service", () => {
  it("says so at once where its folder cannot be made", async () => {
    const opening = fixture.open({ dir: "/proc/cellar/notebooks" });
    await expect(opening).rejects.toMatchObject({
      code: "IO_ERROR",
      remedy: expect.stringContaining("folder"),
    });
  });

  it("knows the isolation before any notebook is open, and tells it", async () => {
    const service = await fixture.open();
    expect(await held(service)).toEqual([]);
    expect(service.isolation.level).toMatch(/^L[34]/);
    const text = instructionsFor(service);
    expect(text).toContain(
      `Isolation in force: ${service.isolation.level}. ${service.isolation.claim}`,
    );
    expect(text).toContain("cannot reach any network");
    const listed = { network: { allow: ["pypi.org"] } };
    expect(instructionsFor(await fixture.open({ config: listed }))).toContain("only: pypi.org");
  });

  it("is not opened where the isolation is less than what was asked for", async () => {
    const opening = fixture.open({ config: { minIsolation: "L4" } });
    await expect(opening).rejects.toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
  });

  it("says everywhere that there are no walls, where that was accepted", async () => {
    await using runtime = new NativeRuntime({ walls: false });
    await using service = await fixture.open({ runtime, config: { minIsolation: "L0" } });
    const { level, claim } = service.isolation;
    expect(["L0", "L1"]).toContain(level);
    expect(instructionsFor(service)).toContain(`${level}. ${claim} Code is not isolated`);
    expect(instructionsFor(service)).not.toContain("cannot reach any network");
    const { structured, text } = await execute(service, "open", "20 + 22");
    expect(structured).toMatchObject({ isolation: level });
    expect(text).toContain(`isolation ${level}\n[result]\n42`);
    const marked = await call(service, "mark_private", { session: "open" });
    expect(textOf(marked)).toContain("nothing is enforced");
  });

  it("refuses options and user names that cannot be", async () => {
    await expect(fixture.open({ user: "../bob" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(fixture.open({ mostOpen: 0 })).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });

  it("closes what nobody uses, and brings it back with its variables", async () => {
    const service = await fixture.open({ idleMs: 50 });
    await execute(service, "idle", "x = 41");
    await until(async () => !(await held(service)).includes("idle"));
    expect((await execute(service, "idle", "x + 1")).text).toContain("42");
  });

  it("does not close a notebook that is in use, however long that takes", async () => {
    const service = await fixture.open({ idleMs: 50 });
    await execute(service, "steady", "1");
    const code = "import time\nfor i in range(5):\n    time.sleep(0.1)\ni";
    expect((await execute(service, "steady", code)).text).toContain("4");
  });

  it("closes the one that was used longest ago when there are too many", async () => {
    const service = await fixture.open({ mostOpen: 2, user: "most" });
    await execute(service, "a", "x = 'a'");
    await execute(service, "b", "x = 'b'");
    await execute(service, "a", "x");
    await execute(service, "c", "x = 'c'");
    await until(async () => (await held(service)).join() === "a,c");
    expect((await execute(service, "b", "x")).text).toContain("'b'");
  });

  it("refuses one more while all are at work", async () => {
    const service = await fixture.open({ mostOpen: 1 });
    const refused = await service.use("worker", () => call(service, "execute_cell", { code: "1" }));
    expect(refused.refusal).toMatchObject({ code: "LIMIT_REACHED" });
    expect(textOf(refused)).toContain("Wait");
    expect((await call(service, "execute_cell", { code: "1" })).isError).toBe(false);
  });

  it("tells what changed, and not any more when nobody wants to hear it", async () => {
    const service = await fixture.open();
    const changes: NotebookChange[] = [];
    const stop = service.listen((change) => changes.push(change));
    const session = "watched";
    await execute(service, session, "open('f', 'w').close()");
    await call(service, "write_file", { session, path: "g", content: "" });
    await call(service, "undo", { session });
    expect(changes).toEqual([
      { session, kind: "list" },
      { session, kind: "cells" },
      { session, kind: "files" },
      { session, kind: "files" },
      { session, kind: "cells" },
    ]);
    stop();
    const warned = once(process, "warning");
    service.listen(() => {
      throw new Error("deaf");
    });
    expect((await execute(service, session, "1")).isError).toBe(false);
    expect(changes).toHaveLength(5);
    expect((await warned)[0]).toMatchObject({
      message: "a listener of the notebook service failed: deaf",
    });
  });

  it("says what to do about a notebook that another process holds, and still shows it", async () => {
    const child = await holder("taken");
    const service = await fixture.open();
    const refused = await call(service, "execute_cell", { session: "taken", code: "x" });
    expect(refused).toMatchObject({ isError: true, refusal: { code: "LOCKED" } });
    expect(textOf(refused)).toContain(`process ${child.pid}`);
    expect(textOf(refused)).toContain("use another session");
    const shown = await call(service, "show_cell", { session: "taken", cell: 1 });
    expect(textOf(shown)).toContain("of another process");
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    expect((await call(service, "execute_cell", { session: "taken", code: "1 + 1" })).isError).toBe(
      false,
    );
  });

  it("opens a notebook anew that was taken over and given back", async () => {
    const service = await fixture.open();
    const session = "fenced";
    await execute(service, session, "x = 1");
    const { dir, runtime } = fixture;
    const { Notebook } = await import("../../notebook/notebook.js");
    const options = {
      dir,
      runtime,
      user: "ann",
      session,
      preload: "none",
      takeover: true,
    } as const;
    const thief = await Notebook.open(options);
    const refused = await call(service, "execute_cell", { session, code: "x" });
    expect(refused.refusal?.code).toBe("CONFLICT");
    await thief.run("x = 2");
    const locked = await call(service, "execute_cell", { session, code: "x" });
    expect(locked.refusal?.code).toBe("LOCKED");
    await thief.close();
    expect((await execute(service, session, "x")).text).toContain("[result]\n2");
  });

  it("cancels what runs when it is closed, and answers nothing more", async () => {
    const service = await fixture.open();
    let begun = () => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const endless = execute(service, "last", "print(1, flush=True)\nwhile True: pass", {
      onText: () => begun(),
    });
    await running;
    await service.close();
    expect((await endless).cell.state).toBe("CANCELLED");
    const refused = await call(service, "execute_cell", { session: "last", code: "1" });
    expect(refused.refusal?.code).toBe("SESSION_CLOSED");
  });

  it("keeps cells and variables for the next service", async () => {
    const first = await fixture.open();
    await execute(first, "kept", "x = 7");
    await first.close();
    const second = await fixture.open();
    const shown = await call(second, "show_notebook", { session: "kept" });
    expect(textOf(shown)).toContain("> x = 7");
    expect(await held(second)).not.toContain("kept");
    expect((await execute(second, "kept", "x")).text).toContain("7");
  });
});

describe("users", () => {
  const NAMES = [
    "../bob/diary",
    "bob/diary",
    "..",
    ".",
    "",
    "a\0b",
    "-x",
    "a/../b",
    "x".repeat(65),
  ];

  it("cannot reach the notebooks of each other, by name or by URI", async () => {
    const bob = await fixture.open({ user: "bob" });
    const { cell } = await execute(bob, "diary", "print('secret')\nopen('s.txt', 'w').write('s')");
    const ann = await fixture.open({ user: "ann" });
    expect((await ann.list()).map(({ session }) => session)).not.toContain("diary");
    const listed = await call(ann, "list_notebooks");
    expect(JSON.stringify(listed)).not.toContain("diary");
    for (const name of [
      "show_notebook",
      "export_ipynb",
      "list_files",
      "undo",
      "clear_notebook",
      "delete_notebook",
    ]) {
      const more = name === "delete_notebook" ? { confirm: true } : {};
      const answer = await call(ann, name, { session: "diary", ...more });
      expect(answer.refusal?.code, name).toBe("NOT_FOUND");
    }
    for (const uri of [
      cell.outputs[0]?.uri ?? "",
      "notebook://session/diary",
      "notebook://session/diary/files/s.txt",
      "notebook://session/../bob/diary/cell/0",
      "notebook://session/..%2Fbob%2Fdiary",
    ]) {
      await expect(ann.readResource(uri), uri).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
    expect((await bob.readResource("notebook://session/diary/files/s.txt")).text).toBe("s");
  });

  it("have the same session names, each with its own notebook", async () => {
    const [ann, bob] = [await fixture.open({ user: "ann" }), await fixture.open({ user: "bob" })];
    await execute(ann, "same", "x = 'of ann'");
    await execute(bob, "same", "x = 'of bob'");
    expect((await execute(ann, "same", "x")).text).toContain("of ann");
  });

  it.each(NAMES)("get no session called %j, whatever the tool", async (session) => {
    const service = await fixture.open();
    for (const tool of TOOLS) {
      if (!("session" in tool.input.shape)) continue;
      const input = { session, code: "1", cell: 1, path: "x", content: "", confirm: true };
      const known = Object.keys(tool.input.shape);
      const fitting = Object.fromEntries(
        Object.entries(input).filter(([key]) => known.includes(key)),
      );
      const answer = await call(service, tool.name, fitting);
      expect(answer.refusal?.code, tool.name).toBe("INVALID_INPUT");
    }
    const forked = await call(service, "fork_notebook", { session: "source", to: session });
    expect(forked.isError).toBe(true);
  });
});
