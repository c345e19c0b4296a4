import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { tinyPackage } from "../../../test/support/wheel.js";
import type { CodeExecution, REPLConfig } from "../backend.js";
import { findDistribution, packagedDistribution } from "./distribution.js";
import { PyodideRuntime } from "./runtime.js";
import { gatherWheels } from "./wheels.js";

const root = mkdtempSync(join(tmpdir(), "cellar-pyodide-test-"));
const servers: Server[] = [];
const text = (run: CodeExecution): string | undefined => run.result?.["text/plain"];
const base = tinyPackage("groundwork", "WORD = 'from the wheel'\n");
const top = tinyPackage("superstructure", "import groundwork\nWORD = groundwork.WORD.upper()\n", [
  "groundwork",
]);

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 10 }));

/** A lock of the two packages, for the Pyodide that is installed. */
function lockText(): string {
  const { info } = JSON.parse(packagedDistribution().lock.text) as { info: object };
  const packages = { groundwork: base.entry, superstructure: top.entry };
  return JSON.stringify({ info, packages });
}

function files(): Record<string, string | Buffer> {
  return { "pyodide-lock.json": lockText(), [base.file]: base.wheel, [top.file]: top.wheel };
}

async function serve(content: Record<string, string | Buffer>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const name = (request.url ?? "").slice(1);
    asked.push(name);
    const body = content[name];
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked };
}

async function wordWith(config: REPLConfig, cache: string): Promise<string | undefined> {
  await using runtime = new PyodideRuntime({ walls: false, cache });
  await using sandbox = await runtime.createSandbox({
    minIsolation: "L0",
    spares: 0,
    packages: ["superstructure"],
    ...config,
  });
  return text(await sandbox.execute("import superstructure\nsuperstructure.WORD"));
}

describe("where Pyodide and its packages come from", () => {
  it("is the installed package, and its publisher for the rest", async () => {
    const { folder, sources, isRemote } = await findDistribution(undefined, root);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(sources.at(-1)).toBe(`https://cdn.jsdelivr.net/pyodide/v${version}/full/`);
    expect(isRemote).toBe(false);
  });

  it("is a server, whose packages are kept and asked for once", async () => {
    const cache = join(root, "served");
    const { url, asked } = await serve(files());
    expect(await wordWith({ indexURL: url }, cache)).toBe("'FROM THE WHEEL'");
    expect(asked).toContain(top.file);
    asked.length = 0;
    expect(await wordWith({ indexURL: `${url}/` }, cache)).toBe("'FROM THE WHEEL'");
    expect(asked).not.toContain(top.file);
  });

  it("is a folder, by path or by URL, also in the caller's thread", async () => {
    const folder = join(root, "local");
    mkdirSync(folder);
    for (const [name, body] of Object.entries(files())) writeFileSync(join(folder, name), body);
    const cache = join(root, "cache-local");
    expect(await wordWith({ indexURL: folder }, cache)).toBe("'FROM THE WHEEL'");
    const direct = { indexURL: pathToFileURL(folder).href, useWorker: false };
    expect(await wordWith(direct, cache)).toBe("'FROM THE WHEEL'");
  });

  it("is the first of a list that works", async () => {
    const dead = await serve({});
    const { url } = await serve(files());
    const found = await findDistribution([dead.url, join(root, "nothing"), url], root);
    expect(found.sources).toEqual([`${url}/`]);
    await expect(findDistribution([dead.url], root)).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: expect.stringContaining(dead.url),
    });
  });

  it("is a server for Pyodide itself, whose code then runs in a worker only", async () => {
    const { folder } = packagedDistribution();
    const core = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"];
    const parts = core.map((name) => [name, readFileSync(join(folder, name))] as const);
    const { url, asked } = await serve({ ...files(), ...Object.fromEntries(parts) });
    const cache = join(root, "remote");
    expect(await wordWith({ indexURL: url }, cache)).toBe("'FROM THE WHEEL'");
    expect(asked).toContain("pyodide.asm.wasm");
    const refused = wordWith({ indexURL: url, useWorker: false }, cache);
    await expect(refused).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it("refuses packages that are not what the lock says, or not there", async () => {
    const { url } = await serve({ ...files(), [base.file]: top.wheel });
    const distribution = await findDistribution(url, root);
    const forged = gatherWheels(distribution, ["groundwork"], join(root, "forged"));
    await expect(forged).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: expect.stringContaining("sha256"),
    });
    const unknown = gatherWheels(distribution, ["surely-not-there"], root);
    await expect(unknown).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  });
});
