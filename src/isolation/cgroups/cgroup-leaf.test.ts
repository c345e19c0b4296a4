import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Cgroups, prepareCgroups } from "./cgroups.js";

const STRANGER = "1234567";
const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** The kernel's rule: a group that has processes of its own cannot divide its controllers. */
vi.mock("node:fs", async (importOriginal) => {
  const fs = await importOriginal<typeof import("node:fs")>();
  const members = (group: string) => fs.readFileSync(join(group, "members"), "utf8").split(" ");
  return {
    ...fs,
    writeFileSync: (path: string, text: string) => {
      const group = dirname(path);
      if (basename(path) === "cgroup.procs") {
        const parent = basename(group).endsWith("-host") ? dirname(group) : group;
        const others = members(parent).filter((pid) => pid !== text);
        const joined = parent === group ? [...others, text] : others;
        fs.writeFileSync(join(parent, "members"), joined.join(" "));
        return;
      }
      const isDivision = basename(path) === "cgroup.subtree_control" && text.startsWith("+");
      if (isDivision && fs.existsSync(join(group, "members")) && members(group).some(Boolean)) {
        throw Object.assign(new Error("EBUSY: resource busy"), { code: "EBUSY" });
      }
      fs.writeFileSync(path, text);
    },
  };
});

describe("a host in a group that is to be divided", () => {
  let root: string;
  let own: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "cellar-leaf-"));
    own = join(root, "fs", "app");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(root, "mountinfo"), `1 1 0:1 / ${join(root, "fs")} rw - cgroup2 none rw\n`);
    writeFileSync(join(root, "cgroup"), "0::/app\n");
    writeFileSync(join(own, "cgroup.controllers"), "memory pids\n");
    writeFileSync(join(own, "cgroup.subtree_control"), "");
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  function prepare(members: readonly string[]): Cgroups {
    writeFileSync(join(own, "members"), members.join(" "));
    return prepareCgroups({ ...me, name: "cellar-1", processFolder: root });
  }

  it("moves to a leaf when it is alone", () => {
    const cgroups = prepare([String(process.pid)]);
    expect(cgroups.version).toBe(2);
    expect(readFileSync(join(own, "members"), "utf8")).toBe("");
    expect(readFileSync(join(own, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids");
    expect(existsSync(join(own, `cellar-${process.pid}-host`))).toBe(true);
  });

  it("moves back and does without when others share the group", () => {
    const cgroups = prepare([String(process.pid), STRANGER]);
    expect(cgroups).toMatchObject({ missing: expect.stringContaining("other processes share") });
    expect(readFileSync(join(own, "members"), "utf8")).toBe(`${STRANGER} ${process.pid}`);
    expect(existsSync(join(own, `cellar-${process.pid}-host`))).toBe(false);
    expect(existsSync(join(own, "cellar-1"))).toBe(false);
  });
});
