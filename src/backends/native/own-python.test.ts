import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { hostEnvironment } from "../../config/environment.js";
import { pathCandidates } from "../../isolation/python-candidates.js";
import { isWithin, UNUSABLE_GUESTS } from "../../isolation/site-folders.js";
import { findInterpreter } from "../host/find-interpreter.js";
import { NativeRuntime } from "./runtime.js";

const SMALL = { preload: "none", poolSize: 0 } as const;
const REMEDY = "packages are added from outside the sandbox: cellar install no-such-package";
const CALLS = `
import json, os, subprocess, sys
def call(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return [done.returncode, (done.stdout or done.stderr).strip()]
minor = 'python%d.%d' % sys.version_info[:2]
where = 'import sys; print(sys.prefix)'
print(json.dumps({
    "prefixes": [call(name, '-c', where)[1] == sys.prefix for name in ('python', minor)],
    "words": subprocess.getoutput('python -c "import sys; print(sys.argv)" "a b" -m pip'),
    "pip": call('pip', 'install', '-q', 'no-such-package'),
    "module": call('python3', '-m', 'pip', 'install', 'no-such-package'),
    "folder": [os.environ['PWD'] == os.getcwd(), sys.path[0]],
    "caches": [os.environ[name].startswith(os.environ['HOME'])
               for name in ('XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'IPYTHONDIR')],
}))
`;

describe("the names of a session's interpreter", () => {
  let runtime: NativeRuntime;
  let unavailable: string | undefined;
  const folder = mkdtempSync(join(tmpdir(), "cellar-own-python-"));

  beforeAll(async () => {
    ({ runtime, unavailable } = await openNativeRuntime());
  });
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });
  afterAll(async () => {
    await runtime?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  it.each([
    ["behind walls", true, {}],
    ["with the host's process numbers", true, { pids: "host", minIsolation: "L1" }],
    ["without walls", false, { minIsolation: "L0" }],
  ] as const)("call it, with its packages, %s", async (_, walls, config) => {
    const own = walls ? runtime : new NativeRuntime({ walls: false });
    const sandbox = await own.createSandbox({ ...SMALL, ...config });
    const { stdout, stderr } = await sandbox.execute(CALLS);
    await sandbox.destroy();
    if (!walls) await own[Symbol.asyncDispose]();
    expect({ stderr, ...JSON.parse(stdout) }).toEqual({
      stderr: "",
      prefixes: [true, true],
      words: "['-c', 'a b', '-m', 'pip']",
      pip: [1, REMEDY],
      module: [1, REMEDY],
      folder: [true, ""],
      caches: [false, false, false, false],
    });
  });

  it("go with folders that its .pth files name, to read and as far as they are harmless", async (ctx) => {
    const { packageRoot } = hostEnvironment();
    const covered = UNUSABLE_GUESTS.find((guest) => isWithin(packageRoot, guest));
    if (covered !== undefined) ctx.skip(`the checkout is in ${covered}, which sessions cover`);
    const { executable } = await findInterpreter({} as never, hostEnvironment());
    const venv = join(folder, "venv");
    execFileSync(executable, ["-I", "-m", "venv", "--without-pip", venv]);
    const [library = ""] = readdirSync(join(venv, "lib"));
    const named = join(packageRoot, "python", "tests");
    const finder = "import __editable___x_finder";
    const site = join(venv, "lib", library, "site-packages");
    writeFileSync(join(site, "x.pth"), `${named}\n/etc\n/root\n${finder}\n`);
    const mapped = join(packageRoot, "scripts");
    const mapping = `MAPPING = {"x": ${JSON.stringify(mapped)}}\n`;
    writeFileSync(join(site, "__editable___x_finder.py"), mapping);
    const sandbox = await runtime.createSandbox({ ...SMALL, python: venv });
    const run = await sandbox.execute(`
import os, sys, ordinary_cells
def can(work):
    try:
        work()
        return True
    except OSError:
        return False
[os.path.dirname(ordinary_cells.__file__), os.path.isdir(${JSON.stringify(mapped)}),
 can(lambda: open(ordinary_cells.__file__, 'a')),
 os.path.exists('/etc/shadow'), os.path.exists(${JSON.stringify(join(packageRoot, "package.json"))})]
`);
    await sandbox.destroy();
    expect(run.error).toBeNull();
    expect(run.result?.["text/plain"]).toBe(`['${named}', True, False, False, False]`);
    const found = await findInterpreter({ python: venv } as never, hostEnvironment());
    expect(found.hidden.map(({ path }) => path)).toEqual(["/etc", "/root"]);
  });

  it("are those of an environment that is made while the program runs", async () => {
    const here = hostEnvironment();
    const packageRoot = join(folder, "package");
    cpSync(join(here.packageRoot, "python"), join(packageRoot, "python"), { recursive: true });
    chmodSync(folder, 0o755);
    const environment = join(folder, "environment");
    await using other = new NativeRuntime({
      hostEnvironment: { ...here, packageRoot, environment },
    });
    const seen = async () => {
      await using sandbox = await other.createSandbox(SMALL);
      const { error, stdout } = await sandbox.execute("import made_later; print(made_later.x)");
      return error === null ? stdout : error.type;
    };
    expect(await seen()).toBe("ModuleNotFoundError");
    const [base] = pathCandidates(here.path);
    execFileSync(base?.path ?? "", ["-I", "-m", "venv", "--without-pip", environment]);
    const [library = ""] = readdirSync(join(environment, "lib"));
    writeFileSync(join(environment, "lib", library, "site-packages", "made_later.py"), "x = 1");
    await expect.poll(seen, { timeout: 30_000, interval: 200 }).toBe("1\n");
  });
});
