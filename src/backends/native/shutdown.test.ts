import { afterAll, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { NativeRuntime } from "./runtime.js";

const { runtime: probed, unavailable } = await openNativeRuntime();
afterAll(() => probed[Symbol.asyncDispose]());

const CLOSED = { code: "SESSION_CLOSED" };
const BARE = { preload: "none", poolSize: 0 } as const;

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

describe("the end of a runtime", () => {
  check("makes no session any more, for old sandboxes neither", async () => {
    const runtime = new NativeRuntime();
    const sandbox = await runtime.createSandbox(BARE);
    await sandbox.execute("x = 1");
    await runtime[Symbol.asyncDispose]();
    await runtime[Symbol.asyncDispose]();
    await expect(sandbox.execute("x")).rejects.toMatchObject(CLOSED);
    await expect(runtime.createSandbox(BARE)).rejects.toMatchObject(CLOSED);
    await sandbox.destroy();
  });

  check("settles what is just being made", async () => {
    const runtime = new NativeRuntime();
    const starts = Array.from({ length: 20 }, async () => {
      const sandbox = await runtime.createSandbox(BARE);
      return (await sandbox.execute("1")).status;
    });
    const settled = Promise.allSettled(starts);
    await runtime[Symbol.asyncDispose]();
    for (const start of await settled) {
      if (start.status === "rejected") expect(start.reason).toMatchObject(CLOSED);
      else expect(["ok", "crashed"]).toContain(start.value);
    }
  });

  it("ends plain processes too", async () => {
    const runtime = new NativeRuntime({ walls: false });
    const sandbox = await runtime.createSandbox({ ...BARE, minIsolation: "L0" });
    const run = await sandbox.execute("import os; os.getpid()");
    const pid = Number(run.result?.["text/plain"]);
    await runtime[Symbol.asyncDispose]();
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    await expect(sandbox.execute("1")).rejects.toMatchObject(CLOSED);
  });
});

describe("a session that is still being made", () => {
  check("is interrupted and killed when it is there", async () => {
    const sandbox = await probed.createSandbox({ ...BARE, timeout: 1, grace: 0 });
    const deaf = "while True:\n  try:\n    while True: pass\n  except BaseException: pass";
    expect(await sandbox.execute(deaf)).toMatchObject({
      status: "timeout",
      state: { survived: true },
    });
    await sandbox.destroy();
  });
});
