import { describe, expect, it } from "vitest";
import { isCellarError } from "../errors.js";
import {
  encodeOptions,
  type Mount,
  type OneShotPolicy,
  oneShotOptions,
  type WallPolicy,
  wallOptions,
} from "./bwrap.js";

const WALL: WallPolicy = {
  python: {
    executable: "/opt/venv/bin/python",
    roots: [
      { host: "/home/u/py", guest: "/home/u/py" },
      { host: "/srv/venv", guest: "/opt/venv" },
    ],
  },
  runner: { host: "/srv/runner", guest: "/opt/cellar" },
  sockets: { host: "/srv/sockets", guest: "/run/cellar" },
  mounts: [],
  hostname: "cellar",
  files: [{ fd: 5, guest: "/etc/passwd" }],
  system: {
    links: [{ name: "/lib", target: "usr/lib" }],
    folders: ["/usr"],
    etc: ["/etc/fonts"],
  },
  tmpMb: 64,
  cgroupNamespace: true,
};

const { sockets: _sockets, cgroupNamespace: _namespace, ...shared } = WALL;
const ONE_SHOT: OneShotPolicy = { ...shared, seccompFd: 4 };

function withMounts(...mounts: Mount[]): WallPolicy {
  return { ...WALL, mounts };
}

function mount(guest: string, readonly = true): Mount {
  return { host: "/srv/data", guest, readonly };
}

/** Where a run of arguments stands, or -1. */
function position(all: readonly string[], ...run: string[]): number {
  return all.findIndex((_, index) => run.every((one, offset) => all[index + offset] === one));
}

describe("the outer wall", () => {
  const all = wallOptions(WALL);

  it("shares no namespace, dies with its parent and starts from an empty environment", () => {
    for (const flag of [
      "--unshare-all",
      "--unshare-user",
      "--die-with-parent",
      "--new-session",
      "--clearenv",
    ]) {
      expect(all).toContain(flag);
    }
    expect(position(all, "--uid", "0", "--gid", "0", "--cap-add", "ALL")).toBeGreaterThan(0);
    expect(position(all, "--hostname", "cellar")).toBeGreaterThan(0);
  });

  it("keeps the cgroup namespace alone when processes must move between groups", () => {
    const kept = wallOptions({ ...WALL, cgroupNamespace: false });
    expect(kept.filter((one) => one.startsWith("--unshare-")).sort()).toEqual(
      ["ipc", "net", "pid", "user", "uts"].map((name) => `--unshare-${name}`),
    );
  });

  it("makes no user namespace inside one that was made for it", () => {
    const named = (policy: WallPolicy) =>
      wallOptions(policy)
        .filter((one) => /^--(unshare|share|uid|gid|cap)/.test(one))
        .sort();
    const own: WallPolicy = { ...WALL, hasOwnUsers: true };
    const kinds = ["cgroup-try", "ipc", "net", "pid", "uts"].map((name) => `--unshare-${name}`);
    expect(named(own)).toEqual(["--cap-add", ...kinds]);
    expect(named({ ...own, cgroupNamespace: false })).toEqual(["--cap-add", ...kinds.slice(1)]);
    const shared = kinds.filter((kind) => kind !== "--unshare-net");
    expect(named({ ...own, sharesNetwork: true })).toEqual(["--cap-add", ...shared]);
  });

  it("lets everybody pass the folders on the way to what is bound", () => {
    const deep = wallOptions(withMounts(mount("/a/b/c")));
    for (const folder of ["/etc", "/opt", "/a", "/a/b"]) {
      expect(position(deep, "--perms", "0755", "--dir", folder)).toBeGreaterThan(0);
    }
    expect(position(deep, "--dir", "/a/b")).toBeLessThan(deep.indexOf("/a/b/c"));
    expect(position(deep, "--dir", "/a/b/c")).toBe(-1);
  });

  it("binds nothing of the host for writing but the sockets", () => {
    const writable = all.flatMap((one, index) => (one === "--bind" ? [all[index + 1]] : []));
    expect(writable).toEqual(["/srv/sockets"]);
    for (const one of ["--dev-bind", "--bind-try", "--dev-bind-try", "--share-net"]) {
      expect(all).not.toContain(one);
    }
  });

  it("shows the system, the interpreter and the runner read-only", () => {
    for (const [host, guest] of [
      ["/usr", "/usr"],
      ["/etc/fonts", "/etc/fonts"],
      ["/home/u/py", "/home/u/py"],
      ["/srv/venv", "/opt/venv"],
      ["/srv/runner", "/opt/cellar"],
    ] as const) {
      expect(position(all, "--ro-bind", host, guest)).toBeGreaterThan(0);
    }
    expect(position(all, "--symlink", "usr/lib", "/lib")).toBeGreaterThan(0);
    expect(position(all, "--ro-bind-data", "5", "/etc/passwd")).toBeGreaterThan(0);
  });

  it("gives each temporary file system a size of its own", () => {
    for (const [index, one] of all.entries()) {
      if (one === "--tmpfs") {
        expect(all.slice(index - 4, index)).toEqual(["--size", "67108864", "--perms", "1777"]);
      }
    }
    expect(position(all, "--tmpfs", "/tmp")).toBeGreaterThan(0);
    expect(position(all, "--tmpfs", "/dev/shm")).toBeGreaterThan(position(all, "--dev", "/dev"));
  });

  it("closes the root for writing after everything else is in place", () => {
    const arranged = wallOptions(withMounts(mount("/data")));
    const closing = position(arranged, "--remount-ro", "/");
    const placing = ["--bind", "--ro-bind", "--tmpfs", "--dir", "--symlink", "--ro-bind-data"];
    for (const [index, one] of arranged.entries()) {
      if (placing.includes(one)) {
        expect(index).toBeLessThan(closing);
      }
    }
    expect(position(arranged, "--remount-ro", "/dev")).toBeGreaterThan(0);
  });

  it("sets a small environment and nothing from the caller", () => {
    const names = all.flatMap((one, index) => (one === "--setenv" ? [all[index + 1]] : []));
    expect(names).toEqual([
      "PATH",
      "LANG",
      "HOME",
      "PWD",
      "XDG_CACHE_HOME",
      "XDG_CONFIG_HOME",
      "XDG_DATA_HOME",
      "XDG_STATE_HOME",
      "IPYTHONDIR",
      "OPENBLAS_NUM_THREADS",
      "OMP_NUM_THREADS",
      "MKL_NUM_THREADS",
      "NUMEXPR_NUM_THREADS",
      "MPLBACKEND",
      "MPLCONFIGDIR",
      "PYTHONDONTWRITEBYTECODE",
    ]);
  });
});

describe("mounts", () => {
  it("are bound read-only or writable as asked, parents before what lies in them", () => {
    const all = wallOptions(withMounts(mount("/data/out", false), mount("/data")));
    const parent = position(all, "--ro-bind", "/srv/data", "/data");
    expect(parent).toBeGreaterThan(0);
    expect(position(all, "--bind", "/srv/data", "/data/out")).toBeGreaterThan(parent);
  });

  it.each(["/data", "/mnt/a b", "/home/u/project", "/opt/models", "/etc/app", "/run/app", "/ünï"])(
    "may appear at %s",
    (guest) => {
      expect(() => wallOptions(withMounts(mount(guest)))).not.toThrow();
    },
  );

  it.each([
    ["/"],
    [""],
    ["data"],
    ["./data"],
    ["/data/"],
    ["/data/../etc"],
    ["/data//x"],
    ["/data/."],
    ["/da\0ta"],
    ["/proc"],
    ["/proc/self"],
    ["/dev"],
    ["/dev/shm"],
    ["/sys/fs"],
    ["/run"],
    ["/run/cellar"],
    ["/run/cellar/x"],
    ["/opt"],
    ["/opt/cellar"],
    ["/opt/cellar/x"],
    ["/opt/venv/lib"],
    ["/home"],
    ["/home/u/py"],
    ["/usr"],
    ["/usr/share/x"],
    ["/lib"],
    ["/etc"],
    ["/etc/fonts/x"],
    ["/etc/passwd"],
    ["/tmp"],
    ["/tmp/x"],
    ["/var"],
    ["/workspace/x"],
  ])("may not appear at %j", (guest) => {
    expectInvalid(() => wallOptions(withMounts(mount(guest))));
  });

  it("may not share a guest path", () => {
    expectInvalid(() => wallOptions(withMounts(mount("/data"), mount("/data", false))));
  });

  it("need an absolute host path", () => {
    expectInvalid(() => wallOptions(withMounts({ host: "data", guest: "/data", readonly: true })));
    expectInvalid(() => wallOptions(withMounts({ host: "/a\0b", guest: "/data", readonly: true })));
  });

  it("never become options, however they are spelled", () => {
    expectInvalid(() => wallOptions(withMounts(mount("--share-net"))));
  });
});

describe("the interpreter's folders", () => {
  it("may not lie where each session has its own", () => {
    const python = { executable: "/x", roots: [{ host: "/tmp/v", guest: "/tmp/v" }] };
    expectInvalid(() => wallOptions({ ...WALL, python }));
    expectInvalid(() => oneShotOptions({ ...ONE_SHOT, python }));
  });
});

describe("the wall around one process", () => {
  const all = oneShotOptions(ONE_SHOT);

  it("leaves no capability, no user namespace and no unfiltered call", () => {
    for (const flag of ["--unshare-all", "--unshare-user", "--disable-userns", "--new-session"]) {
      expect(all).toContain(flag);
    }
    expect(position(all, "--cap-drop", "ALL")).toBeGreaterThan(0);
    expect(all).not.toContain("--cap-add");
    expect(position(all, "--uid", "1000", "--gid", "1000")).toBeGreaterThan(0);
    expect(position(all, "--seccomp", "4")).toBeGreaterThan(0);
  });

  it("closes /dev, /proc and the root, and binds nothing for writing", () => {
    for (const path of ["/dev", "/proc", "/"]) {
      expect(position(all, "--remount-ro", path)).toBeGreaterThan(0);
    }
    expect(all).not.toContain("--bind");
  });

  it("shares the host's network and process numbers only where it is told to, each for itself", () => {
    expect(all).not.toContain("--share-net");
    expect(position(all, "--proc", "/proc")).toBeGreaterThan(0);
    const networked = oneShotOptions({ ...ONE_SHOT, sharesNetwork: true });
    expect(networked.indexOf("--share-net")).toBeGreaterThan(networked.indexOf("--unshare-all"));
    expect(position(networked, "--proc", "/proc")).toBeGreaterThan(0);
    const seeing = oneShotOptions({ ...ONE_SHOT, sharesPids: true });
    for (const flag of ["--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-user"]) {
      expect(seeing).toContain(flag);
    }
    for (const flag of ["--unshare-all", "--unshare-pid", "--share-net", "--proc"]) {
      expect(seeing).not.toContain(flag);
    }
    expect(position(seeing, "--ro-bind", "/proc", "/proc")).toBeGreaterThan(0);
    expect(wallOptions(WALL)).not.toContain("--share-net");
  });

  it("has the names of its interpreter first on the search path, closed with the root", () => {
    const programs = { scripts: [{ fd: 9, name: "python" }], links: { python3: "python" } };
    for (const named of [
      wallOptions({ ...WALL, runner: { host: "/r", guest: "/opt/cellar/r" }, programs }),
      oneShotOptions({ ...ONE_SHOT, runner: { host: "/r", guest: "/opt/cellar/r" }, programs }),
    ]) {
      const script = position(named, "--perms", "0755", "--file", "9", "/opt/cellar/bin/python");
      expect(script).toBeGreaterThan(0);
      expect(script).toBeLessThan(position(named, "--remount-ro", "/"));
      expect(position(named, "--symlink", "python", "/opt/cellar/bin/python3")).toBeGreaterThan(0);
      const path = "/opt/cellar/bin:/opt/venv/bin:/usr/local/bin:/usr/bin:/bin";
      expect(position(named, "--setenv", "PATH", path)).toBeGreaterThan(0);
    }
  });

  it("may have the workspace mounted from the host", () => {
    const mounted = oneShotOptions({ ...ONE_SHOT, mounts: [mount("/workspace", false)] });
    expect(position(mounted, "--bind", "/srv/data", "/workspace")).toBeGreaterThan(
      position(mounted, "--tmpfs", "/workspace"),
    );
  });
});

describe("encoded options", () => {
  it("end each with a NUL", () => {
    expect(encodeOptions(["--dir", "/ü"]).toString()).toBe("--dir\0/ü\0");
  });
});

function expectInvalid(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    expect(isCellarError(error, "INVALID_CONFIG") && error.remedy).toBeTruthy();
    return;
  }
  expect.unreachable("it was accepted");
}
