import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openNativeRuntime } from "../../../../test/support/native-runtime.js";
import { zygotePids } from "../../../../test/support/processes.js";
import { NativeRuntime } from "../runtime.js";

const BARE = { preload: "none", poolSize: 0, checkpoints: "off" } as const;
const CROWD = 160;
/** Less than the host waits for a session that has become deaf. */
const PROMPT_MS = 12_000;
/** Stops whatever comes into its session. */
const STOPPER = `
import os, signal
near = range(os.getpid() + 1, os.getpid() + 12)
print(flush=True)
while True:
    for pid in near:
        try: os.kill(pid, signal.SIGSTOP)
        except OSError: pass
`;

const { runtime, unavailable } = await openNativeRuntime();
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

  it("that is killed while it starts says so, and nothing about what the machine offers", async () => {
    await using own = new NativeRuntime();
    const others = new Set(zygotePids());
    const making = Promise.allSettled([own.createSandbox({ ...BARE, preload: "full" })]);
    let zygote: number | undefined;
    while (zygote === undefined) {
      await sleep(2);
      zygote = zygotePids().find((pid) => !others.has(pid));
    }
    process.kill(zygote, "SIGKILL");
    const [made] = await making;
    expect(made).toMatchObject({
      reason: {
        code: "START_FAILED",
        message: expect.stringContaining("killed while it was starting"),
        remedy: expect.stringContaining("Try again"),
      },
    });
    expect((await own.createSandbox(BARE)).info.mode).toBe("zygote");
  });

  it("makes another head for a session whose head was lost with all it knew", async () => {
    await using sandbox = await runtime.createSandbox(BARE);
    await sandbox.execute("x = 1");
    expect((await sandbox.execute("import os; os._exit(1)")).state.survived).toBe(false);
    expect((await sandbox.execute("print('x' in globals())")).stdout).toBe("False\n");
  });

  it(
    "makes heads for others while a cell stops those of its session",
    async () => {
      await using mine = new NativeRuntime();
      const sandbox = await mine.createSandbox(BARE);
      const twin = await sandbox.fork();
      const start = `import subprocess, sys
stopper = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
stopper.stdout.readline()`;
      await twin.execute(`code = ${JSON.stringify(STOPPER)}\n${start}`);
      const running = sandbox.execute("import os; os._exit(1)");
      await using other = await mine.createSandbox(BARE);
      expect((await other.execute("print(1)")).stdout).toBe("1\n");
      await mine[Symbol.asyncDispose]();
      expect((await running).status).not.toBe("ok");
    },
    PROMPT_MS,
  );

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
