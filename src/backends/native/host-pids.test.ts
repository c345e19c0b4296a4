import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import type { NativeRuntime } from "./runtime.js";

const SMALL = { preload: "none", poolSize: 0 } as const;
const SHARED = { ...SMALL, pids: "host", minIsolation: "L1" } as const;
const folder = mkdtempSync(join(tmpdir(), "cellar-pids-"));
let runtime: NativeRuntime;
let unavailable: string | undefined;

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

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("a session with the host's process numbers", () => {
  it("is refused unless the minimum is lowered", async () => {
    await expect(runtime.createSandbox({ ...SMALL, pids: "host" })).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
      message: expect.stringContaining("inner-wall: shared with the host: pid"),
    });
  });

  it("sees the host's processes and keeps every other wall", async () => {
    await using sandbox = await runtime.createSandbox(SHARED);
    expect(sandbox.info.mode).toBe("plain");
    expect(sandbox.info.isolation.level).toBe("L1");
    expect(sandbox.info.isolation.missing).not.toContain("network");
    expect(sandbox.info.isolation.missing).not.toContain("canary");
    const canary = join(folder, "canary");
    writeFileSync(canary, "of the host", { mode: 0o644 });
    const run = await sandbox.execute(`
import os, socket
def attempt(work):
    try:
        work()
        return True
    except OSError:
        return False
host = "/proc/${process.pid}"
(
    os.path.exists(host),
    attempt(lambda: open(host + "/environ").read()),
    attempt(lambda: os.listdir(host + "/root/")),
    attempt(lambda: os.readlink(host + "/cwd")),
    attempt(lambda: open(${JSON.stringify(canary)}).read()),
    attempt(lambda: socket.create_connection(("1.1.1.1", 80), 2)),
    attempt(lambda: open("/proc/sys/kernel/hostname", "w")),
    os.getcwd(),
)`);
    expect(run.result?.["text/plain"]).toBe(
      "(True, False, False, False, False, False, False, '/workspace')",
    );
  });

  it("keeps its state over an interrupt, and tells of a crash", async () => {
    await using sandbox = await runtime.createSandbox(SHARED);
    await sandbox.execute("kept = 1");
    const late = await sandbox.execute("while True: pass", { timeout: 300 });
    expect(late.status).toBe("timeout");
    expect(await sandbox.getVariable("kept")).toBe(1);
    const crash = await sandbox.execute("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)");
    expect(crash.status).toBe("crashed");
    expect(crash.error?.message).toContain("SIGSEGV");
    expect((await sandbox.execute("1 + 1")).result?.["text/plain"]).toBe("2");
  });

  it("leaves no process behind, however far it went", async () => {
    const sandbox = await runtime.createSandbox(SHARED);
    const run = await sandbox.execute(`
import os, subprocess
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writer, b"%d" % os.getpid())
        os.execv("/bin/sleep", ["sleep", "600"])
    os._exit(0)
int(os.read(reader, 32))`);
    const pid = Number(run.result?.["text/plain"]);
    expect(isAlive(pid)).toBe(true);
    await sandbox.destroy();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("hands its state out and takes it in", async () => {
    const file = join(folder, "state");
    const pieces: Uint8Array[] = [];
    {
      await using sandbox = await runtime.createSandbox(SHARED);
      await sandbox.execute("text, numbers = 'kept', list(range(1000))");
      const write = async (piece: Uint8Array) => void pieces.push(piece);
      const captured = await sandbox.capture(() => write, { maxBytes: 1 << 24 });
      expect(captured.manifest.variables.map(({ name }) => name).sort()).toEqual([
        "numbers",
        "text",
      ]);
    }
    writeFileSync(file, Buffer.concat(pieces));
    await using sandbox = await runtime.createSandbox(SHARED);
    const report = await sandbox.restore(file);
    expect([...report.restored].sort()).toEqual(["numbers", "text"]);
    expect(await sandbox.getVariable("text")).toBe("kept");
    const again = await sandbox.capture(() => async () => {}, { maxBytes: 1 << 24 });
    expect(again.manifest.variables).toHaveLength(2);
  });

  it("has the host's network where that is asked for too, and refuses an allow-list", async () => {
    await using sandbox = await runtime.createSandbox({ ...SHARED, network: "host" });
    expect(sandbox.info.isolation.missing).toContain("network");
    const room = { root: join(folder, "rooms"), name: "one", hasEgress: true };
    const network = { allow: ["example.org"] };
    await expect(
      runtime.createSandbox({ ...SHARED, network }, undefined, room),
    ).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("pids") });
  });
});
