import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { interpreterCandidates, resolveInterpreter } from "./interpreter.js";
import { executablesOn } from "./layout.js";

/** Under a folder that sessions cover. */
let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync("/tmp/cellar-python-"));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function script(path: string, body: string): string {
  const file = join(root, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** A program that answers like a Python with these traits. */
function python(path: string, answer: Record<string, unknown> = {}): string {
  const file = join(root, path);
  const full = {
    executable: file,
    version: [3, 11, 2],
    prefixes: ["/usr", "/usr"],
    base_prefixes: ["/usr", "/usr"],
    library: "/usr/lib",
    site: "/usr/lib/site",
    ...answer,
  };
  return script(path, `echo '${JSON.stringify(full)}'`);
}

function candidate(path: string) {
  return { path, reason: "given" };
}

describe("candidates", () => {
  it("are the configured one alone, a folder meaning a venv", () => {
    const places = { packageRoot: root, environment: join(root, "own"), path: "/usr/bin" };
    expect(interpreterCandidates({ ...places, configured: "/x/python3.12" })).toEqual([
      { path: "/x/python3.12", reason: "configured", isConfigured: true },
    ]);
    expect(interpreterCandidates({ ...places, configured: root })).toEqual([
      { path: join(root, "bin/python"), reason: "configured", isConfigured: true },
    ]);
  });

  it("are else those on the search path, each once", () => {
    const later = python("later/python3");
    const first = python("first/python3");
    const plain = python("first/python");
    const path = [join(root, "first"), join(root, "later"), "/usr/bin"].join(":");
    const places = { packageRoot: root, environment: join(root, "own"), path };
    const paths = interpreterCandidates(places).map((one) => one.path);
    expect(paths.slice(0, 2)).toEqual([first, later]);
    expect(paths).toContain(plain);
    expect(paths.filter((one) => one === "/usr/bin/python3")).toHaveLength(1);
  });

  it("are one environment of Cellar's own alone: the user's, and a checkout's before it", () => {
    const packageRoot = join(root, "package");
    const environment = join(root, "own");
    const places = { packageRoot, environment, path: "/usr/bin" };
    const paths = () => interpreterCandidates(places).map((one) => one.path);
    const within = python("package/.venv/bin/python");
    expect(paths()).toEqual([within]);
    // Also when the Python behind it is gone.
    mkdirSync(join(environment, "bin"), { recursive: true });
    symlinkSync("/nonexistent/python3", join(environment, "bin", "python"));
    expect(paths()).toEqual([join(environment, "bin", "python")]);
    script("package/scripts/setup.mjs", "");
    expect(paths()).toEqual([within]);
  });
});

describe("an interpreter", () => {
  it("is the first candidate that is there, answers and is new enough", async () => {
    const old = python("old", { version: [3, 7, 17] });
    const mute = script("mute", "exit 3");
    const liar = script("liar", "echo '{\"executable\": 5}'");
    const good = python("good", { version: [3, 8, 0] });
    const found = await resolveInterpreter(
      [join(root, "absent"), old, mute, liar, good].map(candidate),
    );
    expect(found).toMatchObject({ executable: good, version: "3.8.0", reason: "given", roots: [] });
  });

  it("is refused with every reason where none will do", async () => {
    const old = python("old", { version: [3, 7, 17] });
    const python2 = script("python2", "echo 'Unknown option: -I' >&2; exit 2");
    const candidates = [join(root, "absent"), old, python2, "/dev/null"].map(candidate);
    const error = await resolveInterpreter(candidates).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "PYTHON_UNSUITABLE",
      message: expect.stringMatching(
        /does not exist.*Python 3\.7\.17.*Unknown option: -I.*EACCES/s,
      ),
      remedy: expect.stringContaining("3.8"),
    });
  });

  it("is never another one than that of an environment with packages", async () => {
    const gone = join(root, "own/bin/python");
    mkdirSync(join(root, "own/bin"), { recursive: true });
    symlinkSync("/nonexistent/python3", gone);
    const environment = { folder: join(root, "own"), remedy: "Make it anew." };
    const candidates = [{ ...candidate(gone), environment }, candidate(python("good"))];
    await expect(resolveInterpreter(candidates)).rejects.toMatchObject({
      code: "PYTHON_UNSUITABLE",
      message: expect.stringMatching(
        /own cannot be used: its Python, \/nonexistent\/python3, is gone/,
      ),
      remedy: "Make it anew.",
      details: { environment: join(root, "own") },
    });
    const prefixes = [join(root, "venv"), join(root, "venv")];
    const upgraded = python("venv/bin/python", { prefixes, site: join(root, "venv/lib/none") });
    await expect(resolveInterpreter([candidate(upgraded)])).rejects.toThrow("another version");
  });

  it("is not looked for after an abort", async () => {
    const signal = AbortSignal.abort();
    await expect(resolveInterpreter([candidate(python("good"))], { signal })).rejects.toThrow(
      expect.objectContaining({ name: "AbortError" }),
    );
  });

  it.each(["/", "/home", "/tmp"])("is refused where it would show all of %s", async (prefix) => {
    const wide = python("wide", { prefixes: [prefix, prefix], base_prefixes: [prefix, prefix] });
    await expect(resolveInterpreter([candidate(wide)])).rejects.toThrow("too much of the machine");
  });

  it("is refused where sessions would cover it", async () => {
    const covered = python("covered", { prefixes: [root, root], base_prefixes: [root, root] });
    await expect(resolveInterpreter([candidate(covered)])).rejects.toThrow("every session covers");
  });
});

describe("a real interpreter", () => {
  const system = () => executablesOn(process.env.PATH ?? "", "python3")[0];

  it("is named by its own file, also behind a shim", async (context) => {
    const real = system() ?? context.skip("no python3 on the PATH");
    const shim = script("shim", `exec ${real} "$@"`);
    const found = await resolveInterpreter([candidate(shim)]);
    expect(found.executable).not.toContain(root);
    expect(realpathSync(found.executable)).toBe(found.executable);
    expect(found.roots.every(({ host, guest }) => host === guest)).toBe(true);
  });

  it("in a venv that sessions would cover is shown elsewhere", async (context) => {
    const base = system() ?? context.skip("no python3 on the PATH");
    const venv = join(root, "venv");
    execFileSync(base, ["-I", "-m", "venv", "--without-pip", venv]);
    const found = await resolveInterpreter([candidate(join(venv, "bin/python"))]);
    expect(found.prefix).toBe(venv);
    expect(found.executable).toBe(join(venv, "bin/python"));
    expect(found.site.startsWith(venv)).toBe(true);
    expect(found.guestExecutable).toBe("/opt/venv/bin/python");
    expect(found.roots).toContainEqual({ host: venv, guest: "/opt/venv" });
  });
});
