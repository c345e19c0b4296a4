import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { NativeRuntime } from "./runtime.js";

const SMALL = { preload: "none", poolSize: 0 } as const;
const SHARED = {
  ...SMALL,
  network: "host",
  minIsolation: "L1",
  checkpoints: "always",
} as const;
let runtime: NativeRuntime;
let unavailable: string | undefined;
let server: Server;
let port: number;

beforeAll(async () => {
  ({ runtime, unavailable } = await openNativeRuntime());
  server = createServer((_, response) => response.end("the host's"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});
afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]();
  server?.close();
});

const fetch = () =>
  `import urllib.request\nurllib.request.urlopen("http://localhost:${port}/", timeout=10).read()`;

describe("a session with the host's network", () => {
  it("is refused unless the minimum is lowered, and told how", async () => {
    await expect(runtime.createSandbox({ ...SMALL, network: "host" })).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      message: expect.stringContaining("network: a port of the host was reached"),
      remedy: expect.stringContaining('lower minIsolation to "L1"'),
    });
  });

  it("reaches it by name, says that it has no wall there, and keeps the other walls", async () => {
    await using sandbox = await runtime.createSandbox(SHARED);
    const { level, missing } = sandbox.info.isolation;
    expect(level).toBe("L1");
    expect(missing).toEqual(expect.arrayContaining(["network", "inner-wall"]));
    expect((await sandbox.execute(fetch())).result?.["text/plain"]).toBe(`b"the host's"`);
    const walls = await sandbox.execute(`
import os, socket
try:
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
except OSError as error:
    raw = type(error).__name__
(os.getppid(), os.path.exists(${JSON.stringify(fileURLToPath(import.meta.url))}), raw)`);
    expect(walls.result?.["text/plain"]).toBe("(1, False, 'PermissionError')");
    const gone = await sandbox.execute("raise OSError(101, 'Network is unreachable')");
    expect(gone.error?.hint).toBeUndefined();
  });

  it("keeps its checkpoints", async () => {
    await using sandbox = await runtime.createSandbox(SHARED);
    await sandbox.execute("kept = 1");
    await sandbox.execute("kept = 2");
    await sandbox.undo(1);
    expect(await sandbox.getVariable("kept")).toBe(1);
  });

  it("does not open the network of sessions beside it", async () => {
    await using shared = await runtime.createSandbox(SHARED);
    await using closed = await runtime.createSandbox({ ...SMALL });
    expect((await closed.execute(fetch())).error?.message).toContain("Connection refused");
    expect((await shared.execute(fetch())).status).toBe("ok");
  });
});
