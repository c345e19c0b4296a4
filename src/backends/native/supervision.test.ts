import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { initPids, pidsKnownAs, sessionPids } from "../../../test/support/processes.js";
import type { REPLConfig } from "../backend.js";
import type { NativePythonSandbox } from "./sandbox.js";

// A pool would start sessions of its own among those that are counted here.
const { runtime, unavailable } = await openNativeRuntime({ poolSize: 0 });
const open: NativePythonSandbox[] = [];
const PATIENCE = { timeout: 60_000, interval: 50 };

/** Says on the link to init what a head says about a checkpoint, with any pid. */
const FORGE = `
import os, socket, struct
def forge(step, pid):
    with socket.socket(fileno=os.dup(1101)) as link:
        link.send(struct.pack("=II", step, pid & 0xFFFFFFFF))
`;

async function create(config: REPLConfig = {}): Promise<NativePythonSandbox> {
  const sandbox = await runtime.createSandbox({
    preload: "none",
    poolSize: 0,
    timeout: 10_000,
    grace: 300,
    checkpoints: "always",
    ...config,
  });
  open.push(sandbox);
  return sandbox;
}

function check(name: string, body: () => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await body();
  });
}

/** What the session before left may still be on its way out. */
let before: ReadonlySet<number> = new Set();
const ours = (pids: readonly number[]) => pids.filter((pid) => !before.has(pid));
const untilGone = () => vi.waitUntil(() => ours(sessionPids()).length === 0, PATIENCE);

beforeEach(() => {
  before = new Set(sessionPids());
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.destroy()));
  await untilGone();
});

afterAll(() => runtime[Symbol.asyncDispose]());

describe("what a head says about pids", () => {
  check("ends nothing of another session", async () => {
    const neighbour = await create();
    await neighbour.execute("kept = 7");
    const attacker = await create({ keepCheckpoints: 2 });
    await attacker.execute("1");
    // Others, such as the one by which the walls were probed, may still be ending.
    await vi.waitFor(() => expect(ours(initPids())).toHaveLength(2), PATIENCE);
    const inits = ours(initPids());
    for (const pid of [0, 1, 2, -1, 0x7fffffff, 4_194_304]) {
      const forging = `${FORGE}\nfor step in range(101, 106): forge(step, ${pid})`;
      await attacker.execute(forging);
      await attacker.execute("1");
    }
    expect(initPids()).toEqual(expect.arrayContaining(inits));
    const after = await neighbour.execute("kept");
    expect(after.result).toEqual({ "text/plain": "7" });
    expect(after.state).toMatchObject({ survived: true });
  });

  check("saves no head from its end: an endless cell is taken back", async () => {
    const sandbox = await create({ timeout: 1000 });
    await sandbox.execute("kept = 7");
    const run = await sandbox.execute(`${FORGE}\nforge(0, os.getpid())\nwhile True: pass`);
    expect(run.status).toBe("timeout");
    expect((await sandbox.execute("kept")).result).toEqual({ "text/plain": "7" });
    await sandbox.execute(`${FORGE}\nforge(9, os.getpid())\nkept = 8`);
    await sandbox.undo();
    expect((await sandbox.execute("kept")).result).toEqual({ "text/plain": "7" });
  });
});

describe("a copy that an object forks when it is looked at", () => {
  check("answers nothing beside the session", async () => {
    const sandbox = await create();
    await sandbox.execute(
      "import os\nclass Forking:\n  def __repr__(self): return str(os.fork() and 1)\n" +
        "  def __dir__(self): return ['x', str(os.fork())]\nfound = Forking()",
    );
    for (let round = 0; round < 3; round += 1) {
      await sandbox.execute("found");
      await sandbox.complete("found.", 6);
    }
    const seen = new Set<string | undefined>();
    for (let round = 0; round < 10; round += 1) {
      seen.add((await sandbox.execute("os.getpid()")).result?.["text/plain"]);
    }
    expect(seen.size).toBe(1);
  });
});

describe("a session whose first process does nothing any more", () => {
  check("ends from outside, its processes with it", async () => {
    const sandbox = await create();
    await sandbox.execute(
      "import os\nfor _ in range(3):\n  if os.fork() == 0:\n    while True: pass",
    );
    for (const pid of ours(initPids())) process.kill(pid, "SIGSTOP");
    await sandbox.destroy();
    await untilGone();
  });

  check("does not keep a cell, an undo or a fork waiting, and the loss is told", async () => {
    const config = { timeout: 500, checkpoints: "always" } as const;
    const running = await create(config);
    const going = [await create(config), await create(config)] as const;
    for (const sandbox of [running, ...going]) {
      await sandbox.execute("kept = 7");
      await vi.waitUntil(async () => (await sandbox.checkpoints()).length > 1, PATIENCE);
    }
    for (const pid of ours(initPids())) process.kill(pid, "SIGSTOP");
    const [cell, undo, fork] = await Promise.allSettled([
      running.execute("import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"),
      going[0].undo(),
      going[1].fork(),
    ]);
    expect(cell).toMatchObject({
      value: { status: "timeout", state: { survived: false, reason: "unresponsive" } },
    });
    for (const call of [undo, fork]) {
      expect(call).toMatchObject({ reason: { code: "SESSION_LOST" } });
    }
    const next = await going[0].execute("'kept' in globals()");
    expect(next.result).toEqual({ "text/plain": "False" });
    expect(next.state).toMatchObject({ survived: false, reason: "unresponsive" });
  });
});

describe("a session that lost its process", () => {
  check("goes back further where no process of its newest checkpoint lives", async () => {
    const sandbox = await create({ checkpoints: "always" });
    await sandbox.execute("kept = 7");
    await sandbox.execute("import os\nos.setsid = lambda: os._exit(0)");
    const crash = await sandbox.execute("os.kill(os.getpid(), 9)");
    expect(crash).toMatchObject({ status: "crashed", state: { survived: false } });
    // It depends on how soon the deaths are seen which result tells of them.
    const told = [crash.state.reason];
    let next = await sandbox.execute("kept");
    for (let more = 0; more < 4 && next.status !== "ok"; more += 1) {
      told.push(next.state.reason);
      next = await sandbox.execute("kept");
    }
    told.push(next.state.reason);
    expect(next).toMatchObject({ status: "ok", result: { "text/plain": "7" } });
    expect(told.join("; ")).toMatch(
      /restored the state after cell 1; lost what these cells did: 2/,
    );
    expect((await sandbox.execute("kept")).state).toMatchObject({ survived: true });
  });

  check("knows where it stands when that happened just before an undo", async () => {
    const sandbox = await create({ checkpoints: "always" });
    for (let round = 0; round < 8; round += 1) {
      for (const code of ["log = [1]", "log = log + [2]"]) await sandbox.execute(code);
      const head = Number((await sandbox.execute("import os\nos.getpid()")).result?.["text/plain"]);
      for (const pid of ours(pidsKnownAs(head))) process.kill(pid, "SIGKILL");
      await sandbox.undo();
      expect((await sandbox.checkpoints()).length).toBeGreaterThan(1);
      const next = await sandbox.execute("log");
      expect(next.state.reason ?? "").not.toContain("an empty session");
      // A copy that was not made yet has cost one cell, which is told; the undo may have meant that one.
      const wanted = next.state.survived ? ["[1, 2]"] : ["[1, 2]", "[1]"];
      expect(wanted).toContain(next.result?.["text/plain"]);
    }
  });

  check("has nothing left running of it, also beside a twin", async () => {
    const sandbox = await create({ checkpoints: "always" });
    await sandbox.execute("import os, subprocess");
    await using _twin = await sandbox.fork();
    await sandbox.execute("subprocess.Popen(['sleep', '600'])\nos.kill(os.getpid(), 9)");
    const look =
      "[1 for p in os.listdir('/proc') if p.isdigit() and open(f'/proc/{p}/comm').read() == 'sleep\\n']";
    expect(await sandbox.execute(look)).toMatchObject({
      result: { "text/plain": "[]" },
      background: 0,
    });
  });

  check("is given up where no process answers that is restored", async () => {
    const sandbox = await create();
    await sandbox.execute("import os, time\nos.setsid = lambda: time.sleep(10_000)");
    const calls = ["os.kill(os.getpid(), 9)", "x"].map((code) => sandbox.execute(code));
    // By then one hangs, and the host waits for its word.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await sandbox.destroy();
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toHaveLength(2);
  });
});

describe("many sessions that are closed at once", () => {
  check("end aside only in a small number", async () => {
    const sandboxes = [];
    for (let count = 0; count < 10; count += 1) {
      const sandbox = await create();
      await sandbox.execute("x = 1");
      sandboxes.push(sandbox);
    }
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
    expect(ours(initPids()).length).toBeLessThanOrEqual(4);
  });
});
