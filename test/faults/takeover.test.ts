import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Notebook } from "../../src/index.js";
import { parseHead, savedHead } from "../../src/notebook/document/head.js";
import { usersOf } from "../../src/notebook/run/session-dir-users.js";
import { DiskStore } from "../../src/notebook/store/disk-store.js";
import type { NotebookId } from "../../src/notebook/store/store.js";
import { NotebookFixture, shown, until } from "../support/notebook/notebook-fixture.js";
import { Hosts } from "./hosts.js";

/** Above what any system gives. */
const NO_PID = 2 ** 30;

/** Writes the same file again and again. */
const SCRIBBLE = `
import time
for count in range(100_000):
    with open('shared', 'w') as file:
        file.write(f'theirs {count}')
    time.sleep(0.01)
`;

describe("a notebook that is taken over", () => {
  const fixture = new NotebookFixture();
  const hosts = new Hosts();
  const headOf = async (id: NotebookId) =>
    parseHead((await new DiskStore(fixture.dir).heads.get(id))?.head, id.session);
  const folderOf = (room: string) => join(fixture.dir, "rooms", room);

  /** Another process that has the notebook, and whose cell writes on and on. */
  const scribbling = async () => {
    const { runtime: _, ...order } = fixture.options({ timeout: 120_000 });
    const { user, session } = order;
    const host = hosts.start(order);
    await host.opened();
    await host.ask("run", "with open('before', 'w') as file: file.write('kept')");
    const { sessionDir: room } = await headOf({ user, session });
    const answer = host.ask("run", SCRIBBLE);
    answer.catch(() => {});
    const theirs = join(folderOf(room), "workspace", "shared");
    /** Waits until they have written again. */
    const written = async () => {
      const before = existsSync(theirs) ? readFileSync(theirs, "utf8") : "";
      await until(() => {
        const now = existsSync(theirs) ? readFileSync(theirs, "utf8") : "";
        return now !== "" && now !== before;
      });
    };
    await written();
    return { host, id: { user, session }, room, answer, written };
  };

  it("has files that a former owner cannot write, be its process stopped or not", async () => {
    const { host, id, room, answer, written } = await scribbling();
    host.signal("SIGSTOP");
    const nb = await fixture.open({ ...id, takeover: true });
    expect((await nb.getFile("before")).toString()).toBe("kept");
    await nb.run("with open('shared', 'w') as file: file.write('mine')");
    await written();
    await written();
    expect((await nb.getFile("shared")).toString()).toBe("mine");
    expect(shown(await nb.run("open('shared').read()"))).toBe("'mine'");
    // It is told without a change of its own, and its cell ends.
    host.signal("SIGCONT");
    expect((await answer).error).toMatchObject({ code: "CONFLICT" });
    const place = { root: join(fixture.dir, "rooms"), name: room };
    await until(async () => (await usersOf(place)).length === 0);
    expect((await nb.getFile("shared")).toString()).toBe("mine");
    await nb.close();
    expect(existsSync(folderOf(room))).toBe(false);
    const head = await headOf(id);
    expect([head.sessionDir === room, head.formerDirs, head.sessionDirSharedWith]).toEqual([
      false,
      undefined,
      undefined,
    ]);
    const again = await fixture.open(id);
    expect((await again.getFile("shared")).toString()).toBe("mine");
    expect((await headOf(id)).sessionDir).toBe(head.sessionDir);
  });

  it("keeps its folder where the former owner is dead", async () => {
    const { host, id, room } = await scribbling();
    await host.kill();
    const nb = await fixture.open({ ...id, takeover: true });
    expect((await headOf(id)).sessionDir).toBe(room);
    expect((await nb.getFile("before")).toString()).toBe("kept");
  });

  it("leaves its folder to processes of a dead owner that do not end", async () => {
    const { host, id, room, written } = await scribbling();
    host.signal("SIGSTOP");
    const { heads } = new DiskStore(fixture.dir);
    const stored = await heads.get(id);
    const head = parseHead(stored?.head, id.session);
    const owner = head.owner && { ...head.owner, pid: NO_PID };
    await heads.cas(id, savedHead({ ...head, owner }), stored?.rev ?? 0);
    const nb = await fixture.open(id);
    await nb.putFile("shared", "mine");
    await written();
    await written();
    expect((await nb.getFile("shared")).toString()).toBe("mine");
    expect((await nb.getFile("before")).toString()).toBe("kept");
    expect((await headOf(id)).formerDirs).toEqual([room]);
  });

  it("is copied by a later one where the one who took it over died before it could", async () => {
    const { host, id, room } = await scribbling();
    host.signal("SIGSTOP");
    const { heads } = new DiskStore(fixture.dir);
    const stored = await heads.get(id);
    const head = parseHead(stored?.head, id.session);
    const sessionDirSharedWith = head.owner ?? undefined;
    const saved = savedHead({ ...head, owner: null, sessionDirSharedWith });
    await heads.cas(id, saved, stored?.rev ?? 0);
    const nb = await fixture.open(id);
    expect((await nb.getFile("before")).toString()).toBe("kept");
    const now = await headOf(id);
    expect([now.sessionDir === room, now.formerDirs]).toEqual([false, [room]]);
  });

  it("refuses files that the former owner would put there, and removes its folders", async () => {
    const options = fixture.options();
    const former = fixture.keep(await Notebook.open(options));
    await former.putFile("one", "1");
    const nb = fixture.keep(await Notebook.open({ ...options, takeover: true }));
    await expect(former.putFile("two", "2")).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(former.run("1")).rejects.toMatchObject({ code: "CONFLICT" });
    expect((await nb.files()).files.map(({ path }) => path)).toEqual(["one"]);
    await former.close();
    await nb.close();
    await Notebook.remove(options);
    const rooms = readdirSync(join(fixture.dir, "rooms"));
    const mine = rooms.filter((room) => {
      const sign = join(folderOf(room), "notebook");
      return existsSync(sign) && readFileSync(sign, "utf8").includes(`"${options.session}"`);
    });
    expect(mine).toEqual([]);
  });
});
