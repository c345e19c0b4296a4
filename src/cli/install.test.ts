import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cellar } from "./command-line.case.test.js";
import { checkRequirement } from "./install.js";

const NAMES = [
  "pandas",
  "scikit-learn",
  "zope.interface",
  "polars[pandas,numpy]",
  "numpy>=1.26,<3",
];
const REFUSED = [
  "-r",
  "--index-url=http://127.0.0.1/",
  "",
  "a b",
  "./folder",
  "../x",
  "/tmp/x.whl",
  "x.whl/../y",
  "git+https://127.0.0.1/x",
  "name @ file:///tmp/x",
  "x; python_version > '3'",
  "x\n--pre",
  "a".repeat(300),
];

describe("the names of packages", () => {
  it.each(NAMES)("may be %j", (name) => {
    expect(() => checkRequirement(name)).not.toThrow();
  });

  it.each(REFUSED)("may not be %j", (name) => {
    expect(() => checkRequirement(name)).toThrow(/not the name of a package/);
  });
});

describe("cellar install", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("refuses options in the place of names", async () => {
    const { code, stdout } = await cellar(["install", "--json", "--", "-r"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error.code).toBe("INVALID_INPUT");
  });

  it("leaves a Python that is no venv as it is", async (ctx) => {
    const python = basePython();
    if (python === undefined) return ctx.skip("no Python");
    const { code, stdout } = await cellar(["install", "--json", "--python", python, "six"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "INSTALL_FAILED",
      remedy: expect.stringContaining("-m venv"),
    });
  });

  it("tells when no index answers", async (ctx) => {
    const python = basePython();
    if (python === undefined) return ctx.skip("no Python");
    try {
      execFileSync(python, ["-m", "venv", folder], { stdio: "ignore" });
    } catch {
      return ctx.skip("this Python makes no venv");
    }
    const env = {
      PIP_INDEX_URL: "http://127.0.0.1:1/simple",
      PIP_EXTRA_INDEX_URL: "",
      PIP_CONFIG_FILE: "/dev/null",
    };
    const args = ["install", "--json", "--python", folder, "cellar-test-absent"];
    const { code, stdout } = await cellar(args, { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "INSTALL_FAILED",
      remedy: expect.stringContaining("No package index answers"),
    });
  });
});

function basePython(): string | undefined {
  const question = "import os, sys; print(os.path.join(sys.base_prefix, 'bin', 'python3'))";
  try {
    return execFileSync("python3", ["-c", question], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}
