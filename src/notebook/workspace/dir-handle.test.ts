import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WorkspaceFixture } from "../../../test/support/notebook/workspace-fixture.js";
import { DirHandle } from "./dir-handle.js";

let fixture: WorkspaceFixture;
let path: string;

beforeEach(() => {
  fixture = new WorkspaceFixture();
  path = fixture.open().path;
});
afterEach(() => fixture[Symbol.dispose]());

describe.each([
  ["held open", process.platform === "linux"],
  ["known by its path", false],
])("a folder that is %s", (_, byDescriptor) => {
  it("knows what is in it, and enters folders alone", async () => {
    mkdirSync(join(path, "folder"));
    writeFileSync(join(path, "folder", "file"), "x");
    symlinkSync("folder", join(path, "link"));
    symlinkSync("folder/file", join(path, "other"));
    using root = DirHandle.open(path, byDescriptor);
    expect([...root.names()].sort()).toEqual(["folder", "link", "other"]);
    expect(root.stat("nothing")).toBeUndefined();
    expect(root.stat("link")?.isSymbolicLink()).toBe(true);
    expect(() => root.child("link")).toThrow();
    expect(() => root.child("nothing")).toThrow(/ENOENT/);
    await expect(root.file("other")).rejects.toThrow(/ELOOP/);
    using folder = root.child("folder");
    await using file = await folder.file("file");
    expect(await file.readFile("utf8")).toBe("x");
    using made = folder.make("new", undefined);
    expect([...made.names()]).toEqual([]);
  });

  it("is refused where a link lies in its place", () => {
    symlinkSync(fixture.secret, join(path, "link"));
    expect(() => DirHandle.open(join(path, "link"), byDescriptor)).toThrow();
  });
});

describe("a descriptor", () => {
  it("is given back, also after failures", async (context) => {
    if (process.platform !== "linux") context.skip("only Linux lists them");
    const workspace = fixture.open();
    await workspace.put("a/b/c", "x");
    symlinkSync("a", join(path, "link"));
    const held = () => readdirSync("/proc/self/fd").length;
    const before = held();
    for (let round = 0; round < 20; round++) {
      const works = [
        workspace.files(),
        workspace.get("a/b/c"),
        workspace.get("a/b"),
        workspace.get("link/b/c"),
        workspace.get("a/b/nothing"),
        workspace.put("link/x", "x"),
        workspace.put("a/b", "x"),
        workspace.remove("a/nothing"),
        workspace.get("a/b/c", { maxBytes: 0 }),
      ];
      await Promise.allSettled(works);
    }
    expect(held()).toBe(before);
  });

  it("is not waited for where the session holds a lease of the file", async (context) => {
    if (process.platform !== "linux") context.skip("only Linux has leases");
    const workspace = fixture.open();
    await workspace.put("leased", "x");
    const file = join(path, "leased");
    const holder = spawn("python3", ["-c", LEASE, file], { stdio: ["pipe", "pipe", "ignore"] });
    try {
      const [line] = await once(createInterface(holder.stdout), "line");
      if (line !== "held") context.skip(`no lease could be taken: ${line}`);
      await expect(workspace.get("leased")).rejects.toMatchObject({ code: "CONFLICT" });
      const { skipped } = await workspace.copyTo(fixture.open("two"));
      expect(skipped).toEqual(["leased"]);
    } finally {
      holder.kill("SIGKILL");
    }
  });
});

const LEASE = `
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
try:
    fd = os.open(sys.argv[1], os.O_RDWR)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    print("held", flush=True)
except OSError as error:
    print(error, flush=True)
sys.stdin.read()
`;
