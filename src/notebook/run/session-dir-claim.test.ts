import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NotebookFixture, until } from "../../../test/support/notebook/notebook-fixture.js";
import type { NativeRuntime } from "../../backends/native/runtime.js";
import { parseHead } from "../document/head.js";
import { Notebook } from "../notebook.js";
import { DiskStore } from "../store/disk-store.js";
import type { NotebookId, NotebookStore } from "../store/store.js";

class Gate {
  open: () => void = () => {};
  readonly passed = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

describe("the new session folder of an owner who was overtaken", () => {
  const fixture = new NotebookFixture();
  const headOf = async (id: NotebookId) =>
    parseHead((await new DiskStore(fixture.dir).heads.get(id))?.head, id.session);
  const roomsOf = ({ session }: NotebookId) =>
    readdirSync(join(fixture.dir, "rooms")).filter((sessionDir) => {
      const sign = join(fixture.dir, "rooms", sessionDir, "notebook");
      return existsSync(sign) && readFileSync(sign, "utf8").includes(`"${session}"`);
    });

  it("is removed where the notebook never had it", async () => {
    const options = fixture.options();
    const former = fixture.keep(await Notebook.open(options));
    await former.putFile("file", "content");
    const [moving, gate] = [new Gate(), new Gate()];
    const disk = new DiskStore(fixture.dir);
    const { heads } = disk;
    const store: NotebookStore = {
      blobs: (id, generation) => disk.blobs(id, generation),
      heads: {
        get: (id) => heads.get(id),
        revision: (id) => heads.revision(id),
        list: (user) => heads.list(user),
        delete: (id, expected) => heads.delete(id, expected),
        cas: async (id, head, expected) => {
          if (parseHead(head, "it").formerDirs !== undefined) {
            moving.open();
            await gate.passed;
          }
          return heads.cas(id, head, expected);
        },
      },
    };
    const overtaken = Notebook.open({ ...options, store, takeover: true });
    overtaken.catch(() => {});
    await moving.passed;
    const next = fixture.keep(await Notebook.open({ ...options, takeover: true }));
    gate.open();
    await expect(overtaken).rejects.toMatchObject({ code: "CONFLICT" });
    const { sessionDir, formerDirs = [] } = await headOf(options);
    expect(roomsOf(options).sort()).toEqual([sessionDir, ...formerDirs].sort());
    expect((await next.getFile("file")).toString()).toBe("content");
  });

  it("stays while the one has it who took a fork over that fails", async () => {
    const options = fixture.options();
    const gate = new Gate();
    let isForking = false;
    const runtime = withSandboxes(fixture.runtime, async (create) => {
      if (!isForking) return create();
      await gate.passed;
      throw new Error("no sandbox");
    });
    const nb = fixture.keep(await Notebook.open({ ...options, runtime }));
    await nb.putFile("file", "content");
    isForking = true;
    const to = fixture.options();
    const fork = nb.fork(to.session);
    fork.catch(() => {});
    await until(async () => (await new DiskStore(fixture.dir).heads.get(to)) !== undefined);
    const { sessionDir } = await headOf(to);
    const next = fixture.keep(await Notebook.open({ ...to, takeover: true }));
    gate.open();
    await expect(fork).rejects.toThrow();
    expect((await headOf(to)).formerDirs).toEqual([sessionDir]);
    expect(roomsOf(to)).toContain(sessionDir);
    expect((await next.getFile("file")).toString()).toBe("content");
    await next.close();
    expect(roomsOf(to)).not.toContain(sessionDir);
  });
});

function withSandboxes(
  runtime: NativeRuntime,
  start: (
    create: () => ReturnType<NativeRuntime["createSandbox"]>,
  ) => ReturnType<NativeRuntime["createSandbox"]>,
): NativeRuntime {
  return new Proxy(runtime, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "createSandbox") {
        return (...given: Parameters<NativeRuntime["createSandbox"]>) =>
          start(() => target.createSandbox(...given));
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
