import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { QUICK_PLACE, WorkspaceFixture } from "../../../test/support/notebook/workspace-fixture.js";
import { sessionDirOwner } from "../../backends/host/session-dir.js";
import type { Workspace } from "./workspace.js";

const MEBIBYTE = 1024 * 1024;

let fixture: WorkspaceFixture;
let workspace: Workspace;

beforeEach(() => {
  fixture = new WorkspaceFixture();
  workspace = fixture.open();
});
afterEach(() => fixture[Symbol.dispose]());

const inside = (...names: string[]) => join(workspace.path, ...names);
const paths = async () => (await workspace.files()).files.map(({ path }) => path);

describe("files of a workspace", () => {
  it("are put and got, with the folders that they need", async () => {
    await workspace.put("a/b/text.txt", "grüezi");
    await workspace.put("bytes", Uint8Array.of(0, 255, 10));
    await workspace.put("stream", Readable.from([Buffer.from("one "), "two"]));
    await workspace.put("bytes", Uint8Array.of(1));
    expect((await workspace.get("a/b/text.txt")).toString()).toBe("grüezi");
    expect(await workspace.get("bytes")).toEqual(Buffer.of(1));
    expect((await workspace.get("stream")).toString()).toBe("one two");
    const { files, isCut } = await workspace.files();
    expect(isCut).toBe(false);
    expect(files.map(({ path, kind, bytes }) => [path, kind, kind === "file" && bytes])).toEqual([
      ["a", "folder", false],
      ["a/b", "folder", false],
      ["a/b/text.txt", "file", 7],
      ["bytes", "file", 1],
      ["stream", "file", 7],
    ]);
  });

  it("have a date, whatever time a session gave them", async (context) => {
    if (QUICK_PLACE === undefined) context.skip("no file system in memory");
    using far = new WorkspaceFixture(16, QUICK_PLACE);
    const distant = far.open();
    for (const [name, seconds] of [
      ["future", "36028797018963968"],
      ["past", "-36028797018963968"],
    ] as const) {
      execFileSync("touch", ["-d", `@${seconds}`, join(distant.path, name)]);
    }
    const { files } = await distant.files();
    const years = files.map(({ modified }) => modified.toISOString());
    expect(years).toEqual(["+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z"]);
  });

  it("belong to the session", async () => {
    await workspace.put("a/b", "x");
    const uid = sessionDirOwner()?.uid ?? process.getuid?.();
    expect(["a", "a/b"].map((path) => lstatSync(inside(path)).uid)).toEqual([uid, uid]);
    await fixture.asSession(() => {
      writeFileSync(inside("a", "b"), "changed");
      writeFileSync(inside("a", "c"), "made");
    });
    expect((await workspace.get("a/b")).toString()).toBe("changed");
  });

  it("keep names that are no text", async () => {
    const name = Buffer.from([0xff, 0x0a, 0xc3, 0xa9]);
    writeFileSync(Buffer.concat([Buffer.from(`${workspace.path}/`), name]), "odd");
    const [path = ""] = await paths();
    expect(path).toBe("\udcff\né");
    expect((await workspace.get(path)).toString()).toBe("odd");
    await workspace.put(path, "odder");
    expect(readdirSync(workspace.path, { encoding: "buffer" })).toEqual([name]);
    await workspace.remove(path);
    expect(readdirSync(workspace.path)).toEqual([]);
  });

  it("are told apart when they are missing, large, or no files", async () => {
    await workspace.put("folder/file", "12345");
    await expect(workspace.get("nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.get("nothing/at/all")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.remove("nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.get("folder")).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(workspace.put("folder", "x")).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(workspace.put("folder/file/x", "")).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    const bounded = { maxBytes: 4 };
    await expect(workspace.get("folder/file", bounded)).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
  });

  it("are removed with all that is in them", async () => {
    await workspace.put("a/b/c", "x");
    await workspace.put("a/d", "x");
    await workspace.remove("a/b");
    expect(await paths()).toEqual(["a", "a/d"]);
    await workspace.clear();
    expect(await paths()).toEqual([]);
  });

  it("are removed however deep they are", async () => {
    execFileSync("python3", ["-c", DEEP, workspace.path]);
    expect((await workspace.usage()).isWhole).toBe(false);
    let isCleared = false;
    const clearing = workspace.clear().finally(() => {
      isCleared = true;
    });
    const held = () => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
    for (const most = held() + 200; !isCleared; await setImmediate()) {
      expect(held()).toBeLessThan(most);
    }
    await clearing;
    expect(await workspace.usage()).toEqual({ bytes: 0, files: 0, isWhole: true });
  });

  it("leave nothing beside the workspace when putting fails", async () => {
    const failing = Readable.from(
      (async function* () {
        yield Buffer.from("half");
        throw new Error("the source broke");
      })(),
    );
    await expect(workspace.put("a/file", failing)).rejects.toThrow("the source broke");
    expect(readdirSync(dirname(workspace.path))).toEqual(["workspace"]);
    expect(await paths()).toEqual([]);
  });

  it("that a dead host had begun to put are swept, and those of a living one are not", async () => {
    const [old, young] = ["old", "young"].map((name) =>
      join(dirname(workspace.path), `.incoming-${name}`),
    ) as [string, string];
    for (const path of [old, young]) writeFileSync(path, "half");
    utimesSync(old, 1, 1);
    await workspace.put("file", "x");
    expect([old, young].map(existsSync)).toEqual([false, true]);
  });

  it("fill no more than the workspace may hold with one that came in meanwhile", async () => {
    await workspace.put("a", Buffer.alloc(10 * MEBIBYTE, 1));
    let isIn = false;
    const slow = async function* () {
      yield Buffer.alloc(MEBIBYTE, 1);
      await workspace.put("b", Buffer.alloc(3 * MEBIBYTE, 1));
      isIn = true;
      yield Buffer.alloc(3 * MEBIBYTE, 1);
    };
    await expect(workspace.put("c", slow())).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect(isIn).toBe(true);
    expect(await paths()).toEqual(["a", "b"]);
  });

  it("fill no more than the workspace may hold", async () => {
    await workspace.put("a", Buffer.alloc(10 * MEBIBYTE, 1));
    await expect(workspace.put("b", Buffer.alloc(7 * MEBIBYTE, 1))).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
    const endless = async function* () {
      for (;;) yield Buffer.alloc(MEBIBYTE, 1);
    };
    await expect(workspace.put("b", endless())).rejects.toMatchObject({ code: "TOO_LARGE" });
    const both = ["c", "d"].map((path) => workspace.put(path, Buffer.alloc(4 * MEBIBYTE, 1)));
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toContain("rejected");
    await workspace.put("a", Buffer.alloc(11 * MEBIBYTE, 1));
    expect(readdirSync(dirname(workspace.path))).toEqual(["workspace"]);
  });
});

const DEEP = `
import os, sys
os.chdir(sys.argv[1])
for _ in range(1000):
    os.mkdir("d")
    os.chdir("d")
    open("f", "w").close()
`;

describe("links of a session", () => {
  beforeEach(() => {
    writeFileSync(join(fixture.secret, "file"), "SECRET");
    symlinkSync(fixture.secret, inside("folder"));
    symlinkSync(join(fixture.secret, "file"), inside("link"));
    symlinkSync("/proc/self/environ", inside("proc"));
  });

  it("are shown as links and not followed", async () => {
    const { files } = await workspace.files();
    expect(files.map(({ path, kind }) => [path, kind])).toEqual([
      ["folder", "link"],
      ["link", "link"],
      ["proc", "link"],
    ]);
    for (const path of ["link", "folder/file", "proc"]) {
      await expect(workspace.get(path)).rejects.toThrow(/links are not followed/);
    }
    await expect(workspace.put("folder/file", "x")).rejects.toThrow(/links are not followed/);
    await expect(workspace.put("folder/new/file", "x")).rejects.toThrow(/links are not followed/);
    await expect(workspace.remove("folder/file")).rejects.toThrow(/links are not followed/);
    expect(readdirSync(fixture.secret)).toEqual(["file"]);
  });

  it("are replaced by what is put in their place, and removed alone", async () => {
    await workspace.put("link", "mine");
    expect(lstatSync(inside("link")).isFile()).toBe(true);
    await workspace.remove("folder");
    await workspace.clear();
    expect(readFileSync(join(fixture.secret, "file"), "utf8")).toBe("SECRET");
  });

  it("are copied as links", async () => {
    const other = fixture.open("two");
    await workspace.copyTo(other);
    expect(readlinkSync(join(other.path, "folder"))).toBe(fixture.secret);
    expect(lstatSync(join(other.path, "link")).isSymbolicLink()).toBe(true);
  });
});

describe("what a session leaves instead of files", () => {
  it("is never waited for", async () => {
    execFileSync("mkfifo", [inside("fifo")]);
    execFileSync("python3", ["-c", SOCKET, inside("socket")]);
    for (const path of ["fifo", "socket"]) {
      await expect(workspace.get(path)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    const other = fixture.open("two");
    const { skipped } = await workspace.copyTo(other);
    expect([...skipped].sort()).toEqual(["fifo", "socket"]);
    expect((await workspace.files()).files.map(({ kind }) => kind)).toEqual(["other", "other"]);
    await workspace.put("fifo", "now a file");
    await workspace.clear();
    expect(await paths()).toEqual([]);
  });

  it("counts with the space that it takes", async () => {
    writeFileSync(inside("sparse"), "");
    truncateSync(inside("sparse"), 64 * MEBIBYTE);
    writeFileSync(inside("full"), Buffer.alloc(MEBIBYTE, 1));
    linkSync(inside("full"), inside("again"));
    const { bytes, files, isWhole } = await workspace.usage();
    expect([files, isWhole]).toEqual([3, true]);
    expect(bytes).toBeGreaterThanOrEqual(MEBIBYTE);
    expect(bytes).toBeLessThan(2 * MEBIBYTE);
  });

  it("is counted also where the session shut a folder to itself", async () => {
    await fixture.asSession(() => {
      mkdirSync(inside("shut"));
      writeFileSync(inside("shut", "file"), Buffer.alloc(MEBIBYTE, 1), { mode: 0 });
      execFileSync("chmod", ["0", inside("shut")]);
    });
    const { files, bytes } = await fixture.asSession(() => workspace.usage());
    expect(files).toBe(2);
    expect(bytes).toBeGreaterThanOrEqual(MEBIBYTE);
    await workspace.clear();
    expect(await paths()).toEqual([]);
  });
});

const SOCKET = "import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])";

describe("a copy of a workspace", () => {
  it("has the same content, modes, times and owner", async () => {
    await workspace.put("a/script", "#!/bin/sh");
    await workspace.put("b", Buffer.alloc(MEBIBYTE, 7));
    execFileSync("chmod", ["751", inside("a", "script")]);
    execFileSync("chmod", ["710", inside("a")]);
    linkSync(inside("b"), inside("c"));
    for (const path of ["a/script", "b", "a"]) utimesSync(inside(path), 1_000, 2_000);
    const other = fixture.open("two");
    expect(await workspace.copyTo(other)).toMatchObject({ files: 4, skipped: [] });
    const seen = (path: string) => {
      const { mode, mtimeMs, uid } = lstatSync(path);
      return [mode.toString(8), mtimeMs, uid];
    };
    for (const path of ["a", "a/script", "b", "c"]) {
      expect(seen(join(other.path, path))).toEqual(seen(inside(path)));
    }
    const [b, c] = ["b", "c"].map((path) => lstatSync(join(other.path, path)).ino);
    expect(b).toBe(c);
    const content = Buffer.alloc(MEBIBYTE, 7);
    expect((await other.get("c")).equals(content)).toBe(true);
    await other.put("b", "its own");
    expect((await workspace.get("b")).equals(content)).toBe(true);
  });

  it("is refused where holes would become bytes that do not fit", async () => {
    writeFileSync(inside("sparse"), "");
    truncateSync(inside("sparse"), 17 * MEBIBYTE);
    await expect(workspace.copyTo(fixture.open("two"))).rejects.toMatchObject({
      code: "TOO_LARGE",
    });
  });
});
