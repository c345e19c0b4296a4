import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { executablesOn, locateBwrap, systemLayout } from "./layout.js";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cellar-layout-"));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function program(path: string, mode = 0o755): string {
  const file = join(root, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, mode);
  return file;
}

describe("the system's layout", () => {
  it("keeps links as links, folders as folders, and only what exists of /etc", () => {
    mkdirSync(join(root, "usr/lib"), { recursive: true });
    mkdirSync(join(root, "sbin"));
    symlinkSync("usr/lib", join(root, "lib"));
    mkdirSync(join(root, "etc/fonts"), { recursive: true });
    writeFileSync(join(root, "etc/shadow"), "secret");
    mkdirSync(join(root, "etc/java-17-openjdk"));
    mkdirSync(join(root, "etc/java-21-openjdk"), { mode: 0o700 });
    mkdirSync(join(root, "etc/java-secrets"));
    expect(systemLayout(root)).toEqual({
      links: [{ name: "/lib", target: "usr/lib" }],
      folders: ["/usr", "/sbin"],
      etc: ["/etc/fonts", "/etc/java-17-openjdk"],
    });
  });

  it("finds this machine's /usr", () => {
    expect(systemLayout().folders).toContain("/usr");
  });
});

describe("bwrap", () => {
  it("is the system's before any other", () => {
    const system = program("usr/bin/bwrap");
    program("other/bwrap");
    expect(locateBwrap(join(root, "other"), system)).toBe(system);
  });

  it("is looked for on the search path else", () => {
    const other = program("other/bwrap");
    expect(locateBwrap(join(root, "other"), join(root, "none"))).toBe(other);
    expect(locateBwrap("", join(root, "none"))).toBeUndefined();
  });
});

describe("programs on a search path", () => {
  it("are those that can be started, from absolute folders, in order", () => {
    const second = program("b/tool");
    const first = program("a/tool");
    program("c/tool", 0o644);
    mkdirSync(join(root, "d/tool"), { recursive: true });
    const path = ["a", "c", "d", "b"].map((name) => join(root, name));
    expect(executablesOn([".", ...path, ""].join(delimiter), "tool")).toEqual([first, second]);
  });
});
