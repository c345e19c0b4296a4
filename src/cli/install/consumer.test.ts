import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAIN, type Run, sandboxAbsence } from "../../../test/support/command-line.js";
import { isWithin, UNUSABLE_GUESTS } from "../../isolation/site-folders.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Writes wheels with nothing but a module and its version. */
const WHEELS = `
import sys, zipfile
for name, version in (("cellar_one", "1.0"), ("cellar_one", "1.1"), ("cellar_two", "2.0")):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", f"version = {version!r}\\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
`;

describe("cellar install where Cellar is a dependency", () => {
  // Beside the dependencies, and outside the temporary folder, which sessions cover.
  const folder = join(ROOT, "node_modules", `.cellar-test-${process.pid}`);
  const home = join(folder, "home é x");
  const project = join(folder, "project");
  const installed = join(project, "node_modules", "cellar");
  const environment = join(home, ".local", "state", "cellar", "python");
  const wheels = mkdtempSync(join(tmpdir(), "cellar-wheels-"));
  let absence: string | undefined;

  /** What `npm ci` does to it. */
  const installPackage = () => {
    rmSync(installed, { recursive: true, force: true, maxRetries: 10 });
    mkdirSync(installed, { recursive: true });
    for (const part of ["dist", "python", "protocol", "package.json"]) {
      cpSync(join(ROOT, part), join(installed, part), { recursive: true });
    }
  };

  const cellar = async (...args: string[]): Promise<Run> => {
    const child = spawn(process.execPath, [join(installed, "dist", "cli", "main.js"), ...args], {
      cwd: project,
      env: {
        ...process.env,
        HOME: home,
        XDG_STATE_HOME: "",
        CELLAR_HOME: "",
        CELLAR_PYTHON: "",
        CELLAR_PRELOAD: "none",
        PIP_NO_INDEX: "1",
        PIP_FIND_LINKS: wheels,
        PIP_CONFIG_FILE: "/dev/null",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (text) => {
      stdout += text;
    });
    child.stderr.on("data", (text) => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    return { code, stdout, stderr };
  };

  beforeAll(async () => {
    absence = existsSync(MAIN) ? await sandboxAbsence() : "there is no build";
    try {
      mkdirSync(folder);
    } catch (error) {
      absence = `node_modules cannot be written: ${error}`;
      return;
    }
    try {
      execFileSync("python3", ["-c", "import ensurepip, venv"], { stdio: "ignore" });
      execFileSync("python3", ["-c", WHEELS, wheels]);
    } catch {
      absence = "this Python makes no environments";
    }
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "diary"), "private");
    installPackage();
  });
  afterAll(() => {
    for (const one of [folder, wheels])
      rmSync(one, { recursive: true, force: true, maxRetries: 10 });
  });

  it("keeps packages in a folder of the user, over a new install of Cellar", async (ctx) => {
    if (absence !== undefined) return ctx.skip(absence);
    const before = await cellar("install", "--json");
    expect(JSON.parse(before.stdout)).toMatchObject({ environment: null, packages: [] });

    const failed = await cellar("install", "--json", "cellar-none");
    expect(failed.code).toBe(1);
    expect(existsSync(environment)).toBe(false);

    // At once, and under a mask that would hide the packages from root's sessions.
    const mask = process.umask(0o077);
    const both = await Promise.all([
      cellar("install", "cellar-one<1.1"),
      cellar("install", "--json", "cellar-two"),
    ]).finally(() => process.umask(mask));
    expect(both.map(({ code, stderr }) => (code === 0 ? "" : stderr))).toEqual(["", ""]);
    expect(both[0].stdout).toContain("installed cellar_one 1.0\n");
    expect(both[0].stdout).toContain(`Installed into ${environment}`);
    expect(JSON.parse(both[1].stdout)).toMatchObject({
      environment,
      installed: [{ name: "cellar_two", version: "2.0" }],
      present: [],
    });
    expect(readdirSync(installed)).not.toContain(".venv");

    installPackage();
    const code = `import os, cellar_one, cellar_two
print(cellar_one.version, cellar_two.version, *(os.path.isdir(folder) and os.listdir(folder)
    for folder in ${JSON.stringify([home, dirname(environment)])}))`;
    const seen = await cellar("exec", "-c", code);
    const isCovered = UNUSABLE_GUESTS.some((guest) => isWithin(home, guest));
    const folders = isCovered ? "False False" : "['.local'] ['python']";
    expect(seen).toEqual({ code: 0, stdout: `1.0 2.0 ${folders}\n`, stderr: "" });

    const again = await cellar("install", "cellar_two", "cellar-one>1");
    expect(again.stdout).toMatch(
      /^installed cellar_one 1\.1 \(was 1\.0\)\nalready there: cellar_two 2\.0\n/,
    );
    const list = await cellar("install");
    expect(list.stdout).toMatch(/^cellar_one 1\.1\ncellar_two 2\.0\nInstalled in /);
  });

  it("says how to make an environment anew whose Python is another one, and does it", async (ctx) => {
    if (absence !== undefined) return ctx.skip(absence);
    const library = readdirSync(join(environment, "lib"))[0] ?? "";
    // As after an upgrade of the system: the packages are for the version before.
    renameSync(join(environment, "lib", library), join(environment, "lib", "python3.5"));
    const refused = await cellar("exec", "-c", "1");
    expect(refused).toMatchObject({ code: 125, stdout: "" });
    expect(refused.stderr).toContain(`environment ${environment} cannot be used`);
    expect(refused.stderr).toContain("fix: Run cellar install --recreate");

    const wheel = join(wheels, "cellar_two-2.0-py3-none-any.whl");
    renameSync(wheel, `${wheel}.gone`);
    expect((await cellar("install", "--recreate")).code).toBe(1);
    expect(readdirSync(join(environment, "lib"))).toEqual(["python3.5"]);
    renameSync(`${wheel}.gone`, wheel);

    rmSync(join(environment, "bin", "python"));
    symlinkSync("/nonexistent/python3.5", join(environment, "bin", "python"));
    expect((await cellar("exec", "-c", "1")).stderr).toContain("/nonexistent/python3.5, is gone");
    const anew = await cellar("install", "--recreate");
    expect(anew.stdout).toMatch(/installed cellar_one 1\.1\n(.*\n)*.*made just now/);
    expect((await cellar("exec", "-c", "import cellar_two; cellar_two.version")).stdout).toBe(
      "'2.0'\n",
    );
    expect(readdirSync(dirname(environment)).sort()).toEqual(["python", "python.lock"]);
  });
}, 120_000);
