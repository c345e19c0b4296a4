import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EgressHosts } from "../../../test/support/egress-hosts.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { makeSessionDir, sessionDirPath } from "../host/session-dir.js";
import { temporaryRoot } from "../host/temporary-root.js";
import { NativeRuntime } from "./runtime.js";

const SMALL = { preload: "none", poolSize: 0, timeout: 20_000 } as const;
const FETCH = (port: number) =>
  `import urllib.request\nurllib.request.urlopen("http://127.0.0.1:${port}/", timeout=10).read().decode()`;
let runtime: NativeRuntime;
let unavailable: string | undefined;

beforeAll(async () => {
  ({ runtime, unavailable } = await openNativeRuntime());
});
beforeEach((context) => {
  if (unavailable !== undefined) context.skip(unavailable);
});
afterAll(() => runtime?.[Symbol.asyncDispose]());

const leftovers = () => readdirSync(temporaryRoot()).filter((name) => name.startsWith("egress-"));

describe("a plain sandbox with an allow-list", () => {
  it("reaches the hosts in it and no others, and keeps its isolation and its workspace in memory", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    const other = await place.server((_, response) => response.end("never"));
    const network = { allow: [`127.0.0.1:${port}`] };
    {
      await using sandbox = await runtime.createSandbox({ ...SMALL, network });
      expect((await sandbox.execute(FETCH(port))).result?.["text/plain"]).toBe("'out'");
      const refused = await sandbox.execute(FETCH(other));
      expect(refused.error?.message).toContain("403");
      expect(refused.error?.hint).toContain(`127.0.0.1:${port}`);
      expect(sandbox.info.isolation.missing).not.toContain("network");
      expect(sandbox.network?.totals).toMatchObject({ allowed: 1, refused: 1 });
      const kind = "[line.split()[2] for line in open('/proc/mounts') if ' /workspace ' in line]";
      expect((await sandbox.execute(kind)).result?.["text/plain"]).toBe("['tmpfs']");
      expect(leftovers()).toHaveLength(1);
    }
    expect(leftovers()).toEqual([]);
  });

  it("is not connected any more once its network is cut", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    const network = { allow: [`127.0.0.1:${port}`] };
    await using sandbox = await runtime.createSandbox({ ...SMALL, network });
    sandbox.cutNetwork("patients.csv holds names");
    const run = await sandbox.execute(FETCH(port));
    expect(run.error?.message).toContain("Network cut by the sandbox");
    expect(sandbox.network?.cut).toBe("patients.csv holds names");
  });

  it("shares its way out with its forks, until the last is gone", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    const network = { allow: [`127.0.0.1:${port}`] };
    const sandbox = await runtime.createSandbox({ ...SMALL, network, checkpoints: "always" });
    await sandbox.execute("x = 1");
    await using fork = await sandbox.fork();
    await sandbox.destroy();
    expect((await fork.execute(FETCH(port))).result?.["text/plain"]).toBe("'out'");
    await fork.destroy();
    expect(leftovers()).toEqual([]);
  });

  it("gets another session with a way out when one is lost", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    const network = { allow: [`127.0.0.1:${port}`] };
    const config = { ...SMALL, network, checkpoints: "off" } as const;
    await using sandbox = await runtime.createSandbox(config);
    expect((await sandbox.execute("import os; os.kill(os.getpid(), 9)")).status).toBe("crashed");
    expect((await sandbox.execute(FETCH(port))).result?.["text/plain"]).toBe("'out'");
  });

  it("has it in the folder that it was given, and leaves that folder alone", async () => {
    await using place = new EgressHosts();
    const port = await place.server((_, response) => response.end("out"));
    const root = mkdtempSync(join(tmpdir(), "cellar-given-"));
    const dir = { root: join(root, "rooms"), name: "one", hasEgress: false };
    makeSessionDir(dir);
    const network = { allow: [`127.0.0.1:${port}`] };
    {
      await using sandbox = await runtime.createSandbox({ ...SMALL, network }, undefined, dir);
      expect((await sandbox.execute(FETCH(port))).result?.["text/plain"]).toBe("'out'");
    }
    expect(existsSync(sessionDirPath(dir))).toBe(true);
    expect(readdirSync(sessionDirPath(dir))).toEqual(["workspace"]);
    rmSync(root, { recursive: true, force: true, maxRetries: 10 });
  });

  it.each([
    ["without walls", { minIsolation: "L0" }, { walls: false }],
    ["with the host's process numbers", { pids: "host", minIsolation: "L1" }, {}],
  ] as const)("is refused %s, and leaves nothing behind", async (_, config, options) => {
    await using weak = new NativeRuntime(options);
    const network = { allow: ["example.org"] };
    await expect(weak.createSandbox({ ...SMALL, ...config, network })).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
    await expect(
      runtime.createSandbox({ ...SMALL, network: { allow: ["https://example.org/"] } }),
    ).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    expect(leftovers()).toEqual([]);
  });
});
