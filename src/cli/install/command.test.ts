import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cellar, Screen } from "../../../test/support/command-line.js";
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
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

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
      const flags = ["--system-site-packages", "--without-pip"];
      execFileSync(python, ["-m", "venv", ...flags, folder], { stdio: "ignore" });
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

/** Does what its last argument says; pip is never asked anything else here. */
const FAKE_PIP = `
import os, sys, sysconfig, time
if sys.argv[1] == "install":
    folder = sysconfig.get_path("purelib")
    if sys.argv[-1] == "half":
        os.mkdir(os.path.join(folder, "half-1.0.dist-info"))
        with open(os.path.join(folder, "half-1.0.dist-info", "METADATA"), "w") as file:
            file.write("Metadata-Version: 2.1\\nName: half\\nVersion: 1.0\\n")
        sys.exit("ERROR: No space left on device")
    print("Downloading endless.whl", flush=True)
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        with open(os.path.join(folder, "taken-back"), "w"):
            sys.exit("ERROR: Operation cancelled by user")
`;

describe("an install that does not come to its end", () => {
  const folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  let site = "";
  beforeAll(() => {
    const python = basePython();
    if (python === undefined) return;
    execFileSync(python, ["-I", "-m", "venv", "--without-pip", folder]);
    const question = "import sysconfig; print(sysconfig.get_path('purelib'))";
    const inside = join(folder, "bin", "python");
    site = execFileSync(inside, ["-I", "-c", question], { encoding: "utf8" }).trim();
    mkdirSync(join(site, "pip"));
    writeFileSync(join(site, "pip", "__init__.py"), "");
    writeFileSync(join(site, "pip", "__main__.py"), FAKE_PIP);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

  it("says what it changed before", async (ctx) => {
    if (site === "") return ctx.skip("no Python");
    const { code, stderr } = await cellar(["install", "--python", folder, "half"]);
    expect(code).toBe(1);
    expect(stderr).toContain("before that it changed half none → 1.0");
    expect(stderr).toContain("fix: Free some space");
  });

  it("is stopped at its time limit, with what to do", async (ctx) => {
    if (site === "") return ctx.skip("no Python");
    const args = ["install", "--python", folder, "--timeout", "1", "endless"];
    const { code, stderr } = await cellar(args);
    expect(code).toBe(1);
    expect(stderr).toContain("pip was stopped after 1 s");
    expect(stderr).toContain("allow more time with --timeout");
  });

  it("is stopped by Ctrl-C, and pip may tidy up", async (ctx) => {
    if (site === "") return ctx.skip("no Python");
    rmSync(join(site, "taken-back"), { force: true });
    using screen = new Screen(["install", "--python", folder, "endless"]);
    await screen.sees(/so far: Downloading endless\.whl/);
    screen.type("\u0003");
    expect(await screen.ended()).toBe(130);
    expect(existsSync(join(site, "taken-back"))).toBe(true);
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
