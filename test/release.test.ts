import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Fixture } from "./machines/machines.js";

const ROOT = join(import.meta.dirname, "..");
const CHANGELOG =
  "# Changelog\n\n## [1.3.0] - unreleased\n\n- new\n\n## [1.2.3] - 2020-01-01\n\n- old\n";

/** In place of those that install, test and pack a whole checkout. */
const SCRIPTS = {
  "setup.mjs": "",
  "test.mjs":
    'import { existsSync } from "node:fs";\nprocess.exitCode = existsSync("broken") ? 1 : 0;\n',
  "pack.mjs": [
    'import { execFileSync } from "node:child_process";',
    'const args = ["pack", "--json", "--loglevel=error"];',
    'const [{ filename }] = JSON.parse(execFileSync("npm", args, { encoding: "utf8" }));',
    'console.log([process.argv[2], filename].join("/"));',
    "",
  ].join("\n"),
};

/** A checkout with a version of its own, and nothing of the tester's settings of git. */
class Checkout {
  readonly #fixture = new Fixture();
  readonly path = this.#fixture.folder("checkout");
  readonly #env = {
    PATH: process.env.PATH,
    HOME: this.#fixture.folder("home"),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Ann",
    GIT_AUTHOR_EMAIL: "ann@example.com",
    GIT_COMMITTER_NAME: "Ann",
    GIT_COMMITTER_EMAIL: "ann@example.com",
  };

  constructor() {
    const version = "1.2.3";
    const manifest = { name: "cellar", version, type: "module" };
    const lock = { name: "cellar", version, lockfileVersion: 3, packages: { "": manifest } };
    mkdirSync(join(this.path, "scripts"));
    cpSync(join(ROOT, "scripts", "release.mjs"), join(this.path, "scripts", "release.mjs"));
    for (const [name, text] of Object.entries(SCRIPTS)) this.write(join("scripts", name), text);
    this.write("package.json", `${JSON.stringify(manifest, null, 2)}\n`);
    this.write("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
    this.write("CHANGELOG.md", CHANGELOG);
    this.write("README.md", "This is Cellar 1.2.3.\n");
    this.write(".gitignore", "*.tgz\n");
    this.git("init", "--quiet", "--initial-branch=main");
    this.commit("first");
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.path, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), "utf8");
  }

  commit(message: string): void {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", message);
  }

  git(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.#run("git", args);
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  }

  release(...args: readonly string[]) {
    return this.#run(process.execPath, [join("scripts", "release.mjs"), ...args]);
  }

  /** All that a release may change. */
  state() {
    const files = ["CHANGELOG.md", "package.json", "package-lock.json"];
    return {
      files: files.map((file) => this.read(file)),
      git: [this.git("rev-parse", "HEAD"), this.git("tag", "--list"), this.git("status", "-s")],
    };
  }

  #run(file: string, args: readonly string[]) {
    const options = { cwd: this.path, env: this.#env, timeout: 120_000 };
    const { status, stdout, stderr } = spawnSync(file, args, { ...options, encoding: "utf8" });
    return { status, stdout, stderr };
  }

  [Symbol.dispose](): void {
    this.#fixture[Symbol.dispose]();
  }
}

const GIT = spawnSync("git", ["--version"]).status === 0;

describe("a release", () => {
  let checkout: Checkout;
  beforeEach((ctx) => {
    if (!GIT) ctx.skip("no git");
    checkout = new Checkout();
  });
  afterEach(() => checkout?.[Symbol.dispose]());

  it("is told step by step by a dry run, which changes nothing", () => {
    const before = checkout.state();
    const { status, stdout, stderr } = checkout.release("minor", "--dry-run");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.match(/^would: .+$/gm)).toEqual([
      "would: set the version 1.2.3 → 1.3.0 and the date of its changes",
      "would: set up and build",
      "would: run npm test",
      "would: pack cellar-1.3.0.tgz",
      "would: commit CHANGELOG.md, package.json, package-lock.json and tag v1.3.0",
    ]);
    expect(stdout).toContain("still mention 1.2.3: README.md\n");
    expect(stdout).toContain("  git push origin main v1.3.0\n  npm publish --provenance cellar-");
    expect(checkout.state()).toEqual(before);
  });

  it("leaves out the tests when asked to", () => {
    const { stdout } = checkout.release("1.3.0", "--dry-run", "--skip-tests");
    expect(stdout).toContain("skipped: npm test\n");
    expect(stdout).not.toContain("run npm test");
  });

  it("sets version and date, packs, commits and tags", () => {
    const { status, stdout, stderr } = checkout.release("minor");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(checkout.read("CHANGELOG.md")).toMatch(/^## \[1\.3\.0\] - \d{4}-\d\d-\d\d$/m);
    const lock = JSON.parse(checkout.read("package-lock.json"));
    const versions = [lock.version, lock.packages[""].version];
    expect([JSON.parse(checkout.read("package.json")).version, ...versions]).toEqual([
      "1.3.0",
      "1.3.0",
      "1.3.0",
    ]);
    expect(stdout).toMatch(/^ {2}cellar@1\.3\.0: \d+ files, /m);
    expect(checkout.git("log", "-1", "--format=%s")).toBe("release: 1.3.0");
    expect(checkout.git("rev-parse", "v1.3.0^{commit}")).toBe(checkout.git("rev-parse", "HEAD"));
    expect(checkout.git("status", "--short")).toBe("");
  });

  it("puts everything back when the tests fail", () => {
    checkout.write("broken", "");
    checkout.commit("broken");
    const before = checkout.state();
    const { status, stderr } = checkout.release("minor");
    expect(status).toBe(1);
    expect(stderr).toMatch(/^release: node .*test\.mjs failed\nfix: /);
    expect(checkout.state()).toEqual(before);
  });

  it.for([
    [[], "expected one version, got no argument"],
    [["1.3.0", "1.4.0"], "expected one version, got 1.3.0 1.4.0"],
    [["new"], "invalid version new; give major, minor, patch or X.Y.Z"],
    [["v1.3.0"], "invalid version v1.3.0; give major, minor, patch or X.Y.Z"],
    [["1.2.2"], "1.2.2 is lower than the current version 1.2.3"],
    [["minor", "--publish"], "Unknown option '--publish'"],
  ] as const)("refuses wrong use: %s", ([args, message]) => {
    const before = checkout.state();
    const { status, stderr } = checkout.release(...args);
    expect(status).toBe(2);
    expect(stderr.startsWith(`release: ${message}`)).toBe(true);
    expect(stderr).toContain("\nfix: npm run release -- --help\n");
    expect(checkout.state()).toEqual(before);
  });

  it.for([
    [
      "a tree that is not clean",
      "the working tree is not clean: new.txt\nfix: commit or stash it\n",
    ],
    ["another branch", "the branch is topic; releases are made from main\nfix: git switch main\n"],
    ["a version that is tagged", "the tag v1.3.0 already exists\nfix: choose a higher version\n"],
    ["no section of changes", "CHANGELOG.md has no unreleased section 1.3.0\nfix: "],
  ] as const)("refuses %s", ([what, message]) => {
    if (what === "a tree that is not clean") checkout.write("new.txt", "");
    if (what === "another branch") checkout.git("switch", "--quiet", "--create", "topic");
    if (what === "a version that is tagged") checkout.git("tag", "v1.3.0");
    if (what === "no section of changes") {
      checkout.write("CHANGELOG.md", CHANGELOG.replace("unreleased", "2020-02-02"));
      checkout.commit("released");
    }
    const before = checkout.state();
    const { status, stderr } = checkout.release("minor", "--dry-run");
    expect(status).toBe(1);
    expect(stderr.startsWith(`release: ${message}`)).toBe(true);
    expect(checkout.state()).toEqual(before);
  });

  it("is helped", () => {
    const { status, stdout } = checkout.release("--help");
    expect(status).toBe(0);
    expect(stdout).toContain("Usage: npm run release -- VERSION");
  });
});
