import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { REPLConfig } from "../backend.js";
import { sandboxIdentity } from "./identity.js";

const { runtime, unavailable } = await openNativeRuntime();
const isRoot = process.getuid?.() === 0;
afterAll(() => runtime[Symbol.asyncDispose]());

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cellar-test-"));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const check = (name: string, body: () => Promise<void>) =>
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });

const open = (config: REPLConfig = {}) => {
  const mounts = [{ host: folder, guest: "/data", readonly: false }];
  return runtime.createSandbox({
    preload: "none",
    poolSize: 0,
    checkpoints: "off",
    mounts,
    ...config,
  });
};

describe("a mount that is to be written", () => {
  check("is refused at the start where the sandbox's user may not write it", async () => {
    chmodSync(folder, isRoot ? 0o755 : 0o555);
    const uid = isRoot ? sandboxIdentity()?.uid : process.getuid?.();
    const refused = {
      code: "INVALID_CONFIG",
      message: expect.stringContaining(`it runs as user ${uid}, and the folder belongs to`),
      remedy: isRoot ? expect.stringContaining(`chown ${uid} ${folder}`) : /Mount a folder/,
      details: { host: folder, guest: "/data" },
    };
    await expect(open()).rejects.toMatchObject(refused);
    await expect(open({ pids: "host", minIsolation: "L0" })).rejects.toMatchObject(refused);
  });

  check("is written where the permissions allow it, by one sandbox after the other", async () => {
    if (isRoot) chmodSync(folder, 0o777);
    for (const text of ["one", "two"]) {
      await using sandbox = await open();
      expect((await sandbox.execute(`open('/data/x', 'a').write('${text}')`)).error).toBeNull();
    }
    expect(readFileSync(join(folder, "x"), "utf8")).toBe("onetwo");
    if (!isRoot) return;
    const { uid, gid } = statSync(join(folder, "x"));
    chmodSync(folder, 0o755);
    chownSync(folder, uid, gid);
    await using sandbox = await open();
    expect((await sandbox.execute("open('/data/y', 'w').write('1')")).error).toBeNull();
  });

  check("has hints that are true of it", async () => {
    if (isRoot) chmodSync(folder, 0o777);
    mkdirSync(join(folder, "shut"), { mode: isRoot ? 0o755 : 0o555 });
    await using writable = await open();
    const inner = await writable.execute("open('/data/shut/x', 'w')");
    expect(inner.error?.hint).toMatch(/mounted for writing, but its permissions on the host/);
    await using readOnly = await open({ mounts: [{ host: folder, guest: "/data" }] });
    const closed = await readOnly.execute("open('/data/x', 'w')");
    expect(closed.error?.hint).toMatch(/mounted for writing \(:rw, readonly: false\)/);
    const missing = await readOnly.execute("open('sales.csv')");
    expect(missing.error?.hint).toMatch(/--mount .*putFile/);
  });
});
