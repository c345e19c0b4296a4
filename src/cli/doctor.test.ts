import { describe, expect, it } from "vitest";
import { cellar } from "./command-line.case.test.js";

const QUICK = { CELLAR_PRELOAD: "none" };
const ALWAYS = ["node", "platform", "python", "bwrap", "user-namespaces", "apparmor", "container"];

interface Line {
  name: string;
  status: string;
  detail: string;
  fix?: string;
}

describe("cellar doctor", () => {
  it("tells every check in a stable shape, and the verdict in its exit code", async () => {
    const { code, stdout } = await cellar(["doctor", "--json"], { env: QUICK });
    const report = JSON.parse(stdout);
    expect(Object.keys(report).sort()).toEqual(
      ["checks", "claims", "error", "level", "minimum", "missing", "ok", "python"].sort(),
    );
    expect(code).toBe(report.ok ? 0 : 1);
    const checks = report.checks as Line[];
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(ALWAYS));
    expect(checks.at(-1)?.name).toBe("isolation");
    for (const { name, status, fix } of checks) {
      expect({ name, fixed: fix !== undefined }).toEqual({
        name,
        fixed: status === "warn" || status === "fail",
      });
    }
  });

  it("prints the same lines for people", async () => {
    const { stdout } = await cellar(["doctor"], { env: QUICK });
    for (const name of ALWAYS) expect(stdout).toMatch(new RegExp(`^[✓!✗·] ${name} `, "m"));
  });

  it("works without a Python, and says what to do", async () => {
    const env = { ...QUICK, CELLAR_PYTHON: "/nonexistent/python" };
    const { code, stdout } = await cellar(["doctor", "--json"], { env });
    const report = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(report).toMatchObject({ ok: false, level: null, python: null });
    const python = (report.checks as Line[]).find(({ name }) => name === "python");
    expect(python).toMatchObject({ status: "fail", fix: expect.stringMatching(/Install Python/) });
  });

  it("fails when more is asked for than the machine offers", async () => {
    const env = { ...QUICK, CELLAR_MIN_ISOLATION: "L4" };
    const { code, stdout } = await cellar(["doctor", "--json"], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, minimum: "L4" });
  });
});
