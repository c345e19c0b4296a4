import { execFileSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Cgroups, prepareCgroups } from "./cgroups.js";
import { locateHierarchies } from "./hierarchies.js";

const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const NOBODY = 65534;

describe("cgroups of this machine", () => {
  const name = `cellar-${process.pid}-test`;

  function splitPlaces() {
    const { memory, pids } = locateHierarchies("/proc/self");
    return memory !== undefined && pids !== undefined && isWritable(memory)
      ? { memory, pids }
      : undefined;
  }

  it("are made in version 1, owned by the sandbox's user, and removed", (context) => {
    const places = splitPlaces() ?? context.skip("no writable version 1 hierarchies here");
    const owner = me.uid === 0 ? { uid: NOBODY, gid: NOBODY } : me;
    const cgroups = prepareCgroups({ ...owner, name });
    if (cgroups.version !== 1) {
      throw new Error(`expected version 1: ${JSON.stringify(cgroups)}`);
    }
    for (const kind of ["memory", "pids"] as const) {
      const folder = join(places[kind], name);
      expect(cgroups.directories[kind]).toBe(folder);
      expect(statSync(folder).uid).toBe(owner.uid);
      expect(statSync(join(folder, "cgroup.procs")).gid).toBe(owner.gid);
      expect(fstatSync(cgroups.descriptors[kind]).ino).toBe(statSync(folder).ino);
    }
    mkdirSync(join(cgroups.directories.pids, "session"));
    writeFileSync(join(cgroups.directories.pids, "session", "pids.max"), "7");
    cgroups.dispose();
    expect(existsSync(cgroups.directories.memory)).toBe(false);
    expect(existsSync(cgroups.directories.pids)).toBe(false);
    cgroups.dispose();
  });

  it("lose what a host that is gone left behind, and only that", (context) => {
    const places = splitPlaces() ?? context.skip("no writable version 1 hierarchies here");
    const stale = join(places.pids, `cellar-${pidOfTheDead()}`);
    const alive = join(places.pids, `cellar-${process.ppid}-kept`);
    mkdirSync(join(stale, "session"), { recursive: true });
    mkdirSync(alive, { recursive: true });
    const cgroups = prepareCgroups({ ...me, name });
    try {
      expect(existsSync(stale)).toBe(false);
      expect(existsSync(alive)).toBe(true);
    } finally {
      dispose(cgroups);
      execFileSync("rmdir", [alive]);
    }
  });
});

describe("cgroups of a made-up machine", () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "cellar-cgroups-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  function machine(mountinfo: string, cgroup: string): string {
    writeFileSync(join(root, "mountinfo"), mountinfo);
    writeFileSync(join(root, "cgroup"), cgroup);
    return root;
  }

  function unified(own: string, controllers: string, enabled: string): string {
    const folder = join(root, "fs", own);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "cgroup.controllers"), controllers);
    writeFileSync(join(folder, "cgroup.subtree_control"), enabled);
    return folder;
  }

  const UNIFIED_MOUNT = () =>
    `30 1 0:26 / ${join(root, "fs")} rw - cgroup2 cgroup2 rw,nsdelegate\n`;

  it("in version 2 enable both controllers and set a place for the zygote apart", () => {
    const own = unified("user/app", "cpu memory pids\n", "");
    const processFolder = machine(UNIFIED_MOUNT(), "0::/user/app\n");
    const cgroups = prepareCgroups({ ...me, name: "cellar-1", processFolder });
    if (cgroups.version !== 2) {
      throw new Error(`expected version 2: ${JSON.stringify(cgroups)}`);
    }
    const group = join(own, "cellar-1");
    expect(cgroups.directories.unified).toBe(group);
    expect(cgroups.zygoteProcesses).toBe(join(group, "zygote", "cgroup.procs"));
    expect(readFileSync(join(own, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids +cpu");
    expect(readFileSync(join(group, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids +cpu");
    expect(statSync(join(group, "zygote")).isDirectory()).toBe(true);
    dispose(cgroups);
    expect(existsSync(join(group, "zygote"))).toBe(false);
  });

  it("in version 2 are made beside the leaf that the host already moved into", () => {
    const parent = unified("app", "memory pids\n", "memory pids\n");
    mkdirSync(join(parent, "cellar-77-host"));
    const processFolder = machine(UNIFIED_MOUNT(), "0::/app/cellar-77-host\n");
    const cgroups = prepareCgroups({ ...me, name: "cellar-1", processFolder });
    expect(cgroups).toMatchObject({ directories: { unified: join(parent, "cellar-1") } });
    expect(readFileSync(join(parent, "cgroup.subtree_control"), "utf8")).toBe("memory pids\n");
    dispose(cgroups);
  });

  it("are missing where version 2 gives too few controllers", () => {
    unified("", "hugetlb pids\n", "");
    const processFolder = machine(UNIFIED_MOUNT(), "0::/\n");
    expect(prepareCgroups({ ...me, name: "cellar-1", processFolder })).toMatchObject({
      version: undefined,
      missing: expect.stringContaining("memory"),
      remedy: expect.stringContaining("Delegate=yes"),
    });
  });

  it("are missing where nothing is mounted or nothing is readable", () => {
    const processFolder = machine("22 1 0:20 / /proc rw - proc proc rw\n", "0::/\n");
    expect(prepareCgroups({ ...me, name: "cellar-1", processFolder }).version).toBeUndefined();
    expect(
      prepareCgroups({ ...me, name: "cellar-1", processFolder: join(root, "gone") }).version,
    ).toBeUndefined();
  });

  it("are missing, with nothing left behind, where the folder may not be written", (context) => {
    if (me.uid === 0) {
      context.skip("root may write everywhere");
    }
    const own = unified("app", "memory pids\n", "memory pids\n");
    chmodSync(own, 0o555);
    const processFolder = machine(UNIFIED_MOUNT(), "0::/app\n");
    expect(prepareCgroups({ ...me, name: "cellar-1", processFolder })).toMatchObject({
      missing: "this user may not make cgroups here",
    });
    chmodSync(own, 0o755);
    expect(existsSync(join(own, "cellar-1"))).toBe(false);
  });

  it("are found below the part of the hierarchy that a container sees", () => {
    const mounts = [
      "40 1 0:30 /docker/abc /cg/memory ro - cgroup cgroup rw,memory",
      "41 1 0:31 / /cg/with\\040blank rw - cgroup cgroup rw,pids",
      "42 1 0:32 /elsewhere /cg/unified rw - cgroup2 cgroup2 rw",
    ].join("\n");
    const groups = "5:memory:/docker/abc/inner\n4:pids,cpu:/x:y\n0::/not-below\n";
    expect(locateHierarchies(machine(mounts, groups))).toEqual({
      memory: "/cg/memory/inner",
      pids: "/cg/with blank/x:y",
      unified: undefined,
    });
  });
});

function dispose(cgroups: Cgroups): void {
  if (cgroups.version !== undefined) {
    cgroups.dispose();
  }
}

function pidOfTheDead(): number {
  return Number(execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }));
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
