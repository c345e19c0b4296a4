import { chmodSync, mkdtempSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isWithin, shownRoots, siteFolders, UNUSABLE_GUESTS } from "./site-folders.js";

const GUARDED = { home: "/home/u", folders: ["/home/u/.local/state/cellar", "/srv/project/rooms"] };
const same = (path: string) => path;

function look(path: string, real = same) {
  return siteFolders([path], ["/srv/venv"], GUARDED, real);
}

describe("a folder that a .pth file names", () => {
  it.each(["/srv/code/src", "/home/u/work/lib", "/opt/lib", "/home/u/work/lib.zip"])(
    "is shown at %s",
    (path) => {
      expect(look(path)).toEqual({ folders: [{ host: path, guest: path }], hidden: [] });
    },
  );

  it.each(["/srv/venv/lib/python3.11/site-packages/x", "/usr/lib/python3/dist-packages"])(
    "is shown already at %s",
    (path) => {
      expect(look(path)).toEqual({ folders: [], hidden: [] });
    },
  );

  it.each([
    "/",
    "/home",
    "/home/u",
    "/home/u/",
    "/home/somebody",
    "/root",
    "/etc",
    "/etc/ssl",
    "/var",
    "/var/lib/x",
    "/proc/self",
    "/tmp/x",
    "/var/tmp/x",
    "/run",
    "/opt",
    "/opt/cellar/x",
    "/workspace/x",
    "/home/u/.ssh",
    "/home/u/.config/x",
    "/home/u/.local",
    "/home/u/.local/state/cellar/notebooks",
    "/srv/project",
    "/home/u/work/../../..",
  ])("is not shown at %s", (path) => {
    const { folders, hidden } = look(path);
    expect(folders).toEqual([]);
    expect(hidden).toHaveLength(1);
  });

  it("is judged by where it leads too", () => {
    expect(look("/srv/code", () => "/etc").folders).toEqual([]);
    expect(look("/srv/code", () => "/home/u").hidden).toMatchObject([{ path: "/srv/code" }]);
  });

  it("is judged by where the home folder and the stores really are", () => {
    const real = (path: string) =>
      path.replace(/^\/home\/u/, "/data/u").replace("/srv/project/rooms", "/data/rooms");
    for (const path of ["/data", "/data/u", "/data/u/.ssh", "/data/rooms/a", "/data/u/.local"]) {
      expect(look(path, real).hidden).toMatchObject([{ path }]);
    }
    expect(look("/data/u/work", real).hidden).toEqual([]);
    const missing = (path: string) => {
      if (path.startsWith("/home/u")) throw new Error("ENOENT");
      return path;
    };
    expect(look("/srv/code", missing).folders).toHaveLength(1);
    expect(look("/home/u", missing).folders).toEqual([]);
  });

  it("is not shown to a sandbox of root's that could not pass it", (ctx) => {
    const covered = UNUSABLE_GUESTS.find((guest) => isWithin(import.meta.dirname, guest));
    if (covered !== undefined) ctx.skip(`the checkout is in ${covered}, which sessions cover`);
    const shut = mkdtempSync(join(import.meta.dirname, "shut-"));
    const inside = join(shut, "venv");
    const count = (path: string, isRoot: boolean) =>
      siteFolders([path], [inside], { isRoot }, same).folders.length;
    try {
      expect([count(shut, false), count(shut, true)]).toEqual([1, 0]);
      expect(count(import.meta.dirname, true)).toBe(0);
      chmodSync(shut, 0o755);
      expect([count(shut, true), count(import.meta.dirname, true)]).toEqual([1, 1]);
    } finally {
      rmdirSync(shut);
    }
  });

  it("gives way to a mount at its place", () => {
    const [roots, folders] = [[], [{ host: "/srv/code", guest: "/srv/code" }]];
    const beside = (guest: string) => shownRoots({ roots, folders }, [{ host: "/h", guest }]);
    expect(beside("/data")).toEqual(folders);
    for (const guest of ["/srv", "/srv/code", "/srv/code/x"]) expect(beside(guest)).toEqual([]);
  });

  it("is not shown twice", () => {
    const found = ["/srv/code/src", "/srv/code", "/srv/code/src"];
    expect(siteFolders(found, [], {}, same).folders).toEqual([
      { host: "/srv/code", guest: "/srv/code" },
    ]);
  });
});
