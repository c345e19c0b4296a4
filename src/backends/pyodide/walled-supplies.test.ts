import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { tinyPackage } from "../../../test/support/wheel.js";
import { isCellarError } from "../../errors.js";
import { packagedDistribution } from "./distribution.js";
import { storeFile } from "./download.js";
import { PyodideRuntime } from "./runtime.js";

const NOBODY = 65_534;
const LIBRARY = fileURLToPath(new URL("../../../dist/index.js", import.meta.url));
const CORE = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"];
const isRoot = process.getuid?.() === 0;
const root = mkdtempSync(join(tmpdir(), "cellar-pyodide-test-"));
const wheel = tinyPackage("groundwork", "WORD = 'from the wheel'\n");
const content = new Map<string, string | Buffer>();
const server = createServer((request, response) => {
  const body = content.get((request.url ?? "").slice(1));
  response.writeHead(body === undefined ? 404 : 200).end(body);
});
/** One for all, so that only the first start is a slow one. */
const cache = join(root, "cache");
let url = "";
let first: string | undefined;
let unavailable: string | undefined;

beforeAll(async () => {
  const { folder, lock } = packagedDistribution();
  const { info } = JSON.parse(lock.text) as { info: object };
  content.set("pyodide-lock.json", JSON.stringify({ info, packages: { groundwork: wheel.entry } }));
  content.set(wheel.file, wheel.wheel);
  for (const name of CORE) content.set(name, readFileSync(join(folder, name)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const before = process.umask(0o077);
  try {
    first = await wordOf(url);
  } catch (error) {
    if (!isCellarError(error, "SANDBOX_UNAVAILABLE")) throw error;
    unavailable = error.message;
  } finally {
    process.umask(before);
  }
});

afterAll(() => {
  server.close();
  rmSync(root, { recursive: true, force: true, maxRetries: 10 });
});

async function wordOf(indexURL: string): Promise<string | undefined> {
  await using runtime = new PyodideRuntime({ cache });
  await using sandbox = await runtime.createSandbox({
    indexURL,
    packages: ["groundwork"],
    spares: 0,
  });
  expect(sandbox.info.isolation.level).toMatch(/^L3-?$/);
  const run = await sandbox.execute("import groundwork\ngroundwork.WORD");
  return run.result?.["text/plain"] ?? run.error?.message;
}

/** Everything below a folder: its path, and the permissions for others. */
function modesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map(
    (name) => `${name} ${(lstatSync(join(folder, name)).mode & 0o777).toString(8)}`,
  );
}

describe("Pyodide from a server or a folder, behind walls", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("is fetched, kept privately, and read by a session with another identity", async () => {
    expect(first).toBe("'from the wheel'");
    const modes = modesBelow(cache);
    expect(modes).toContain("distributions 700");
    expect(modes).toContain("wheels 700");
    expect(modes.filter((line) => /[2367]$/.test(line) || /[2367]\d$/.test(line))).toEqual([]);
    // As an earlier version left it.
    for (const part of ["distributions", "wheels"]) {
      for (const name of readdirSync(join(cache, part))) chmodSync(join(cache, part, name), 0o700);
    }
    expect(await wordOf(url)).toBe("'from the wheel'");
  });

  it("comes from a folder that only its owner can read", async () => {
    const folder = join(root, "own");
    mkdirSync(folder, { mode: 0o700 });
    for (const [name, body] of content) writeFileSync(join(folder, name), body, { mode: 0o600 });
    expect(await wordOf(folder)).toBe("'from the wheel'");
  });

  it("is had by an ordinary user too", async (context) => {
    if (!isRoot) context.skip("the tests above are run by an ordinary user already");
    if (!existsSync(LIBRARY)) context.skip("the library is not built");
    const home = join(root, "home");
    const own = join(home, ".cache", "cellar", "pyodide");
    mkdirSync(own, { recursive: true });
    chmodSync(root, 0o755);
    // With the snapshot of the tests above it starts sooner.
    for (const name of readdirSync(cache).filter((one) => one.endsWith(".bin"))) {
      copyFileSync(join(cache, name), join(own, name));
      chmodSync(join(own, name), 0o600);
    }
    const below = readdirSync(home, { recursive: true, encoding: "utf8" });
    for (const name of ["", ...below]) chownSync(join(home, name), NOBODY, NOBODY);
    const script = `
const { createSandbox } = await import(${JSON.stringify(LIBRARY)});
const sandbox = await createSandbox({
  backend: "pyodide", indexURL: ${JSON.stringify(url)}, packages: ["groundwork"], spares: 0,
});
const run = await sandbox.execute("import groundwork; groundwork.WORD");
console.log(run.result?.["text/plain"] ?? run.error?.message);
await sandbox.destroy();
process.exit(0);`;
    const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    const child = spawn(
      "setpriv",
      [...user, process.execPath, "--input-type=module", "-e", script],
      { env: { PATH: process.env.PATH, HOME: home, TMPDIR: home } },
    );
    const said = { stdout: "", stderr: "" };
    child.stdout.on("data", (data) => {
      said.stdout += data;
    });
    child.stderr.on("data", (data) => {
      said.stderr += data;
    });
    await new Promise((resolve) => child.once("close", resolve));
    if (/SANDBOX_UNAVAILABLE|cannot find|EACCES.*dist/i.test(said.stderr))
      context.skip(said.stderr);
    expect(said.stdout.trim()).toBe("'from the wheel'");
  });

  it("is never stored through a link, or in what is somebody else's", () => {
    const elsewhere = join(root, "elsewhere");
    mkdirSync(elsewhere, { mode: 0o700 });
    symlinkSync(elsewhere, join(root, "link"));
    expect(() => storeFile(join(root, "link"), "file", Buffer.from("x"))).toThrow(/ELOOP|ENOTDIR/);
    expect([readdirSync(elsewhere), lstatSync(elsewhere).mode & 0o777]).toEqual([[], 0o700]);
  });
});
