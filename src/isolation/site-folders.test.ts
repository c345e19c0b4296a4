import { describe, expect, it } from "vitest";
import { siteFolders } from "./site-folders.js";

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

  it("is not shown twice", () => {
    const found = ["/srv/code/src", "/srv/code", "/srv/code/src"];
    expect(siteFolders(found, [], {}, same).folders).toEqual([
      { host: "/srv/code", guest: "/srv/code" },
    ]);
  });
});
