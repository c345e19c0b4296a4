import { execFile } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { cellar } from "../../../test/support/command-line.js";
import { userFolders } from "../../config/environment.js";
import { meets } from "../../isolation/levels.js";
import { diagnosisSchema, type HealthCheck } from "./health-check.js";

const QUICK = { CELLAR_PRELOAD: "none" };
const ALWAYS = [
  ...["node", "platform", "own-files", "python", "bwrap", "user-namespaces", "apparmor"],
  ...["container", "temporary", "notebooks", "daemon"],
];
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The package in another place, with the parts of it that are named and no Python of its own. */
class OtherPackage implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "cellar-package-"));

  constructor(parts: readonly string[]) {
    // Sandboxes of root run as somebody else.
    chmodSync(this.path, 0o755);
    for (const part of ["dist", "node_modules", ...parts]) {
      symlinkSync(join(ROOT, part), join(this.path, part));
    }
    cpSync(join(ROOT, "package.json"), join(this.path, "package.json"));
    mkdirSync(join(this.path, "nothing"));
  }

  /** Runs its command line where nothing is on the search path. */
  async run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const main = join(this.path, "dist", "cli", "main.js");
    const env = {
      ...process.env,
      ...QUICK,
      PATH: join(this.path, "nothing"),
      HOME: this.path,
      // Pyodide starts from what was kept there.
      XDG_CACHE_HOME: userFolders().cache.replace(/\/cellar$/, ""),
      NODE_OPTIONS: "--preserve-symlinks --preserve-symlinks-main",
    };
    const ended = promisify(execFile)(process.execPath, [main, ...args], { env });
    return ended.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10 });
  }
}

function lineOf(checks: readonly HealthCheck[], name: string): HealthCheck | undefined {
  return checks.find((check) => check.name === name);
}

describe("cellar doctor", () => {
  it("tells every check in a stable shape, and the verdict in its exit code", async () => {
    const { code, stdout } = await cellar(["doctor", "--json"], { env: QUICK });
    const { ok, checks, works, level, minimum } = diagnosisSchema.parse(JSON.parse(stdout));
    expect(code).toBe(ok ? 0 : 1);
    // On this machine the tests run, so that all of it works where the isolation is enough.
    const canRun = level !== null && meets(level, minimum);
    expect(works).toEqual({ cells: canRun, agents: canRun, notebooks: canRun });
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(ALWAYS));
    expect(checks.at(-1)?.name).toBe("isolation");
    for (const { name, status, fix } of checks) {
      expect({ name, fixed: fix !== undefined }).toEqual({
        name,
        fixed: status === "warn" || status === "fail",
      });
    }
  });

  it("leaves nothing behind", async () => {
    using home = new OtherPackage([]);
    const [temporary, state] = [join(home.path, "tmp"), join(home.path, "state")];
    for (const folder of [temporary, state]) mkdirSync(folder);
    chmodSync(temporary, 0o1777);
    const env = { ...QUICK, HOME: home.path, TMPDIR: temporary, XDG_STATE_HOME: state };
    const { stdout } = await cellar(["doctor"], { env });
    for (const name of ALWAYS) expect(stdout).toMatch(new RegExp(`^[✓!✗·] ${name} `, "m"));
    if (!stdout.includes("refuses to run code")) expect(stdout).toMatch(/^✓ notebook /m);
    expect(readdirSync(temporary)).toEqual([]);
    expect(
      readdirSync(state, { recursive: true }).filter((name) => /doctor/.test(`${name}`)),
    ).toEqual([]);
  });

  it("has nothing in the place of a Python that was named", async () => {
    const env = { ...QUICK, CELLAR_PYTHON: "/nonexistent/python" };
    const { code, stdout } = await cellar(["doctor", "--json"], { env });
    const report = diagnosisSchema.parse(JSON.parse(stdout));
    expect(code).toBe(1);
    expect(report).toMatchObject({ ok: false, level: null, python: null, backend: null });
    expect(lineOf(report.checks, "python")).toMatchObject({
      status: "fail",
      fix: expect.stringMatching(/Install Python/),
    });
  });

  it("tries Pyodide where there is no Python, as a session does", async () => {
    using other = new OtherPackage(["python", "protocol"]);
    const { code, stdout } = await other.run("doctor", "--json");
    const report = diagnosisSchema.parse(JSON.parse(stdout));
    const { level, minimum } = report;
    const canRun = level !== null && meets(level, minimum);
    expect(level).not.toBeNull();
    expect({ code, backend: report.backend, works: report.works }).toEqual({
      code: canRun ? 0 : 1,
      backend: canRun ? "pyodide" : null,
      works: { cells: canRun, agents: canRun, notebooks: false },
    });
    expect(lineOf(report.checks, "python")).toMatchObject({
      status: "warn",
      detail: expect.stringMatching(/Pyodide; notebooks, .*mcp, .*install and the daemon need/),
    });
    const session = await other.run("exec", "-c", "6 * 7");
    expect(session.stdout.trim()).toBe(canRun ? "42" : "");
  });

  it.each([
    ["notebook", ["notebook", "run", "a", "-c", "1"], "Notebooks need CPython 3.8"],
    ["mcp", ["mcp", "--check"], "Notebooks need CPython 3.8"],
    ["install", ["install", "six"], "cellar install needs CPython 3.8"],
  ])("and %s says that it needs one", async (_, args, words) => {
    using other = new OtherPackage(["python", "protocol"]);
    const { code, stderr } = await other.run(...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(words);
    expect(stderr).toContain("looked at: python3 and python on the PATH");
    expect(stderr).toContain("exec and repl run on Pyodide here");
    expect(stderr).toMatch(/fix: Install Python 3\.8/);
    expect(stderr).not.toContain("Connection closed");
    expect(stderr.match(/cellar:/g)).toHaveLength(1);
  });

  it("names Cellar's own files where they are not there, and no level to go down to", async () => {
    using other = new OtherPackage(["protocol"]);
    const { code, stdout } = await other.run("doctor", "--json");
    const { checks } = diagnosisSchema.parse(JSON.parse(stdout));
    expect(code).toBe(1);
    expect(lineOf(checks, "own-files")).toMatchObject({
      status: "fail",
      detail: expect.stringContaining(`not at ${other.path}: python/cellar_runner`),
      fix: expect.stringContaining("mark cellar as external"),
    });
    expect(stdout).not.toMatch(/accept less|Lower|lower/);
    const session = await other.run("exec", "-c", "1");
    expect(session.stderr).toContain(`Cellar's own files are not at ${other.path}`);
    expect(session.stderr).not.toMatch(/isolation/i);
  });

  it("fails when more is asked for than the machine offers", async () => {
    const env = { ...QUICK, CELLAR_MIN_ISOLATION: "L4" };
    const { code, stdout } = await cellar(["doctor", "--json"], { env });
    expect(code).toBe(1);
    expect(diagnosisSchema.parse(JSON.parse(stdout))).toMatchObject({ ok: false, minimum: "L4" });
  });
});
