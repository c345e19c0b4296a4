import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { zygotePids } from "./processes.case.test.js";
import { NativeRuntime } from "./runtime.js";
import { openWalls } from "./walls.case.test.js";

const BARE = { preload: "none", poolSize: 0, checkpoints: "off" } as const;
const CROWD = 160;

const { runtime, unavailable } = await openWalls();
afterAll(() => runtime[Symbol.asyncDispose]());

describe("a zygote", () => {
  beforeEach((context) => {
    if (unavailable !== undefined) context.skip(unavailable);
  });

  it("makes heads for a crowd, each in a session of its own", async () => {
    const numbers = [...Array(CROWD).keys()];
    const sandboxes = await Promise.all(numbers.map(() => runtime.createSandbox(BARE)));
    const code = (number: number) =>
      `import os\nprint(${number}, os.getppid(), os.uname().nodename)`;
    const runs = await Promise.all(sandboxes.map((one, number) => one.execute(code(number))));
    expect(runs.map(({ stdout }) => stdout)).toEqual(
      numbers.map((number) => `${number} 1 cellar\n`),
    );
    await Promise.all(sandboxes.map((one) => one.destroy()));
  });

  it("makes another head for a session whose head was lost with all it knew", async () => {
    await using sandbox = await runtime.createSandbox(BARE);
    await sandbox.execute("x = 1");
    expect((await sandbox.execute("import os; os._exit(1)")).state.survived).toBe(false);
    expect((await sandbox.execute("print('x' in globals())")).stdout).toBe("False\n");
  });

  it("takes its sessions with it when it is killed, says so, and is replaced", async () => {
    const before = new Set(zygotePids());
    await using mine = new NativeRuntime();
    await using sandbox = await mine.createSandbox(BARE);
    await sandbox.execute("x = 1");
    const [pid = 0] = zygotePids().filter((one) => !before.has(one));
    const running = sandbox.execute("import time; time.sleep(60)");
    process.kill(pid, "SIGKILL");
    expect(await running).toMatchObject({ status: "crashed", error: { type: "SessionLost" } });
    expect(await sandbox.execute("print('x' in globals())")).toMatchObject({
      status: "ok",
      stdout: "False\n",
    });
  });
});
