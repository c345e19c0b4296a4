import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { diagnosisSchema, type HealthCheck } from "../../src/cli/doctor/health-check.js";
import { locateBwrap } from "../../src/isolation/layout.js";
import { Fixture, lackOfMachines, MAIN, onMachine, program, run } from "./machines.js";

const ENV = { CELLAR_PRELOAD: "none" };
const TELL = "console.log(JSON.stringify([error.code, error.message, error.remedy]));";
const TURN = [
  'const agent = await cellar.AgentRepl.open({ context: "abc" });',
  'console.log((await agent.turn("print(len(context) * 14)")).observation);',
  "await cellar.shutdown();",
];

const lack: { machines?: string | undefined } = {};

beforeAll(async () => {
  lack.machines = await lackOfMachines();
});

function needMachines(ctx: TestContext): void {
  if (lack.machines !== undefined) ctx.skip(lack.machines);
  if (locateBwrap(process.env.PATH ?? "") === undefined) ctx.skip("no bubblewrap");
}

describe("a temporary folder that is mounted", () => {
  it.for(["noexec", "noexec,nosuid,nodev,noatime"])("%s takes agents", async (options, ctx) => {
    needMachines(ctx);
    using fixture = new Fixture();
    const path = fixture.folder("tmp");
    const mounts = [{ path, options: `${options},mode=1777` }];
    const { stdout, stderr } = await onMachine(mounts, program(TURN), { ...ENV, TMPDIR: path });
    expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: "42", stderr: "" });
  });

  it("with hardly any space is told with its size and what to do", async (ctx) => {
    needMachines(ctx);
    using fixture = new Fixture();
    const path = fixture.folder("tmp");
    const mounts = [{ path, options: "size=16k,mode=1777" }];
    const trying = [`try { ${TURN.join("\n")} } catch (error) { ${TELL} }`];
    const { stdout } = await onMachine(mounts, program(trying), { ...ENV, TMPDIR: path });
    const [code, message, remedy] = JSON.parse(stdout) as string[];
    expect({ code, remedy }).toEqual({
      code: "IO_ERROR",
      remedy: "Set TMPDIR to a folder with more space.",
    });
    expect(message).toContain(`written to ${path}`);
    expect(message).toMatch(/no space left \(16 KB in all, /);
  });

  it("with little space is told by the demo too", async (ctx) => {
    needMachines(ctx);
    using fixture = new Fixture();
    const path = fixture.folder("tmp");
    const mounts = [{ path, options: "size=40k,mode=1777" }];
    const demo = [process.execPath, MAIN, "demo"];
    const { code, stdout } = await onMachine(mounts, demo, { ...ENV, TMPDIR: path });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /✗ rlm .*no space left.*\n +fix: Set TMPDIR to a folder with more space/,
    );
  });
});

describe("a home that is read-only", () => {
  it("keeps notebooks only, which doctor and the commands tell", async (ctx) => {
    needMachines(ctx);
    using fixture = new Fixture();
    const home = fixture.folder("home");
    const mounts = [{ path: home, options: "ro" }];
    const state = `${home}/.local/state`;
    const env = { ...ENV, HOME: home, XDG_STATE_HOME: state, XDG_RUNTIME_DIR: "" };
    const there = (...args: string[]) => onMachine(mounts, [process.execPath, MAIN, ...args], env);
    const [doctor, notebook, mcp] = await Promise.all([
      there("doctor", "--json"),
      there("notebook", "run", "a", "-c", "1"),
      there("mcp", "--check", "--json"),
    ]);
    const report = diagnosisSchema.parse(JSON.parse(doctor.stdout));
    expect({ code: doctor.code, works: report.works }).toEqual({
      code: 0,
      works: { cells: true, agents: true, notebooks: false },
    });
    expect(lineOf(report.checks, "notebooks")).toMatchObject({
      status: "fail",
      detail: expect.stringMatching(new RegExp(`^${home}/.*read-only`)),
      fix: expect.stringContaining("--dir FOLDER"),
    });
    expect(notebook.stderr).toContain(home);
    expect(notebook.stderr).toContain("--dir FOLDER");
    const checked = JSON.parse(mcp.stdout) as Record<string, string>;
    expect(checked.reason).toContain(home);
    expect(checked.reason).not.toContain("Connection closed");
    expect(checked.remedy).toContain("--dir FOLDER");
  });
});

/** Tells the policies of all processes below this one but for the wall's own, and of a cell. */
const POLICIES = [
  'import { readFileSync } from "node:fs";',
  "const read = (pid, name) => readFileSync('/proc/' + pid + '/' + name, 'utf8').trim();",
  "const childrenOf = (pid) => read(pid, 'task/' + pid + '/children').split(' ').filter(Boolean);",
  "const below = (pid) => childrenOf(pid).flatMap((child) => [child, ...below(child)]);",
  "const policyOf = (pid) => read(pid, 'stat').split(') ').at(-1).split(' ')[38];",
  "const open = (backend) => cellar.createSandbox({ backend, spares: 0, poolSize: 0 });",
  "const [native, pyodide] = await Promise.all(['native', 'pyodide'].map(open));",
  "console.log((await pyodide.execute('6 * 7')).status);",
  "const processes = below(process.pid).filter((pid) => read(pid, 'comm') !== 'bwrap');",
  "console.log([...new Set(processes.map(policyOf))].join(' '));",
  "const { result } = await native.execute('import os; (os.sched_getscheduler(0), os.nice(0))');",
  "console.log(result['text/plain']);",
  "await cellar.shutdown();",
];

describe("a host that comes before all other processes", () => {
  it.for([
    ["chrt", "-f", "5"],
    ["nice", "-n", "-5"],
  ])("by %s has sessions at an ordinary priority", async ([name = "", ...rest], { skip }) => {
    const tried = await run(name, [...rest, "true"]).catch(() => ({ code: -1, stderr: "" }));
    if (tried.code !== 0 || /cannot|failed/.test(tried.stderr)) skip(`${name} is refused here`);
    if (locateBwrap(process.env.PATH ?? "") === undefined) skip("no bubblewrap");
    const { stdout, stderr } = await run(name, [...rest, ...program(POLICIES)], ENV);
    expect({ stdout: stdout.trim().split("\n"), stderr }).toEqual({
      stdout: ["ok", "0", "(0, 0)"],
      stderr: "",
    });
  });
});

function lineOf(checks: readonly HealthCheck[], name: string): HealthCheck | undefined {
  return checks.find((check) => check.name === name);
}
