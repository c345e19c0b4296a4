import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DaemonHome, end, SMALL, until } from "../../../test/support/daemon-home.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { packageVersion } from "../../config/environment.js";
import { PROTOCOL_VERSION } from "../../protocol/bounds.js";
import { Peer } from "../../protocol/peer.js";
import type { Mount } from "../backend.js";
import { createSandbox } from "../create-sandbox.js";
import { shutdown } from "../shared.js";
import { DaemonConnection } from "./connection.js";

const { runtime: probed, unavailable } = await openNativeRuntime();
await probed[Symbol.asyncDispose]();

function check(name: string, body: (home: DaemonHome) => Promise<void>): void {
  it(name, async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using home = new DaemonHome();
    await body(home);
  });
}

const DIST = new URL("../../../dist/", import.meta.url);

/** A client in a process of its own, which opens a sandbox, runs a cell and waits. */
async function startClient(
  home: DaemonHome,
  code: string,
  mounts: readonly Mount[] = [],
): Promise<ChildProcess> {
  const script = `
    import { createSandbox } from ${JSON.stringify(fileURLToPath(new URL("index.js", DIST)))};
    const config = { backend: "daemon", preload: "standard", mounts: ${JSON.stringify(mounts)} };
    const sandbox = await createSandbox(config);
    const run = await sandbox.execute(${JSON.stringify(code)});
    console.log(run.status);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: home.environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

describe("clients of one daemon", () => {
  check("have sessions of their own that no other can name", async (home) => {
    await home.start();
    const [mine, yours] = [home.runtime(), home.runtime()];
    const first = await mine.createSandbox(SMALL);
    const second = await yours.createSandbox(SMALL);
    await first.execute("secret = 'mine'");
    await second.execute("secret = 'yours'");
    expect(await first.getVariable("secret")).toBe("mine");
    expect(await second.getVariable("secret")).toBe("yours");
    const link = await DaemonConnection.open(home.address);
    const order = { settings: { ...SMALL }, search: { path: "", package_root: "", python: "" } };
    const quiet = { mounts: [], environment: {}, listens: [], answers: [] };
    const { session } = await link.request("session_create", { ...order, ...quiet });
    const other = await DaemonConnection.open(home.address);
    const stolen = other.request("session_get_variable", { session, name: "secret" });
    await expect(stolen).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    other.notify("session_cancel", { session, cell: null });
    const destroyed = other.request("session_destroy", { session });
    await expect(destroyed).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    const own = await link.request("session_get_variable", { session, name: "secret" });
    expect(own).toEqual({ found: false });
    other.close();
    link.close();
  });

  check("are asked each for itself", async (home) => {
    await home.start();
    const config = (name: string) => ({
      ...SMALL,
      onLLMQuery: async (prompt: string) => `${name}: ${prompt}`,
      onRLMQuery: async (task: string, context: unknown) => `${task} ${JSON.stringify(context)}`,
    });
    const first = await home.runtime().createSandbox(config("first"));
    const second = await home.runtime().createSandbox(config("second"));
    await first.initialize(["a"]);
    await second.initialize({ b: 1 });
    const ask = "[llm_query('x') for _ in range(5)][4], rlm_query('t')";
    const runs = await Promise.all([first.execute(ask), second.execute(ask)]);
    expect(runs.map((run) => run.result?.["text/plain"])).toEqual([
      `('first: x', 't ["a"]')`,
      `('second: x', 't {"b":1}')`,
    ]);
    const twin = await first.fork();
    await twin.initialize("twin's");
    expect((await twin.execute("rlm_query('u')")).result?.["text/plain"]).toBe(`'u "twin\\'s"'`);
    expect((await first.execute("rlm_query('v')")).result?.["text/plain"]).toBe(`'v ["a"]'`);
  });

  check("free their sessions when they are killed", async (home) => {
    await home.start("--keep");
    const shared = join(home.path, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    const beat = "while True: open('/shared/beat', 'w').write(str(time.time())); time.sleep(0.02)";
    const code = `import threading, time\ndef f():\n  ${beat}\nthreading.Thread(target=f).start()`;
    const client = await startClient(home, code, [
      { host: shared, guest: "/shared", readonly: false },
    ]);
    const beats = () => readFileSync(join(shared, "beat"), "utf8");
    await until(() => existsSync(join(shared, "beat")));
    expect(await home.status()).toMatchObject({ sessions: 1, clients: 2 });
    await end(client, "SIGKILL");
    await until(async () => (await home.status()).sessions === 0);
    await until(async () => {
      const last = beats();
      await sleep(300);
      return beats() === last;
    });
  });

  check("that are killed in the middle of a cell do not leave it running", async (home) => {
    await home.start("--keep");
    const script = `
      import { createSandbox } from ${JSON.stringify(fileURLToPath(new URL("index.js", DIST)))};
      const config = { backend: "daemon", preload: "standard", timeout: 600_000 };
      const sandbox = await createSandbox({ ...config, onStdout: console.log });
      await sandbox.execute("print('on', flush=True)\\nwhile True: pass");`;
    const busy = spawn(process.execPath, ["--input-type=module", "-e", script], {
      env: home.environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(busy.stdout, "data");
    await end(busy, "SIGKILL");
    await until(async () => (await home.status()).sessions === 0);
  });

  check("remove the files they wrote for large contexts with the session", async (home) => {
    const daemon = await home.start();
    const spools = () => readdirSync(tmpdir()).filter((name) => isSpool(name, daemon.pid));
    const sandbox = await home.runtime().createSandbox(SMALL);
    const text = "é🎈\r\n\0".repeat(400_000);
    await sandbox.initialize(text);
    const run = await sandbox.execute("len(context), context[:5] == 'é🎈\\r\\n\\0'");
    expect(run.result?.["text/plain"]).toBe("(2000000, True)");
    const before = spools().length;
    await sandbox.destroy();
    expect(spools().length).toBe(before - 1);
  });
});

function isSpool(name: string, pid: number | undefined): boolean {
  return name.startsWith(`cellar-${pid}-`);
}

describe("a daemon that dies", () => {
  check("fails every call that waits, and the next one finds another or says so", async (home) => {
    const daemon = await home.start();
    const sandbox = await home.runtime().createSandbox({ ...SMALL, timeout: 600_000 });
    const idle = await home.runtime().createSandbox(SMALL);
    await sandbox.execute("x = 1");
    await idle.execute("y = 1");
    const running = sandbox.execute("while True: pass");
    const waiting = sandbox.execute("x");
    const question = sandbox.getVariable("x");
    const lost = expect(question).rejects.toMatchObject({
      code: "SESSION_LOST",
      remedy: expect.stringContaining("cellar daemon status"),
    });
    await sleep(200);
    await end(daemon, "SIGKILL");
    const gone = { survived: false, checkpoint: null, reason: "daemon" };
    const crashed = { status: "crashed", error: { type: "SessionLost" }, state: gone };
    expect(await running).toMatchObject(crashed);
    expect(await waiting).toMatchObject(crashed);
    await lost;
    const none = { code: "DAEMON_UNAVAILABLE", remedy: "Run cellar daemon start." };
    await expect(sandbox.execute("x")).rejects.toMatchObject(none);
    await home.start();
    const next = await sandbox.execute("'x' in globals()");
    expect(next).toMatchObject({ status: "ok", result: { "text/plain": "False" } });
    // No number is used twice, and the traceback has the one of the result.
    const failed = await sandbox.execute("1 / 0");
    expect(failed.number).toBe(next.number + 1);
    expect(next.number).toBeGreaterThan((await waiting).number);
    expect(failed.error?.traceback).toContain(`<cell ${failed.number}>`);
    expect(next.state.survived).toBe(true);
    const told = await idle.execute("'y' in globals()");
    expect(told).toMatchObject({ status: "ok", state: { survived: false, reason: "daemon" } });
    expect((await idle.execute("1")).state.survived).toBe(true);
  });

  check("gives contexts back to the sandboxes that go on", async (home) => {
    const daemon = await home.start();
    const sandbox = await home.runtime().createSandbox(SMALL);
    await sandbox.initialize("the text");
    await end(daemon, "SIGKILL");
    await home.start();
    expect((await sandbox.execute("context")).result?.["text/plain"]).toBe("'the text'");
  });

  check("tells that a context could not be had again", async (home) => {
    const daemon = await home.start();
    const sandbox = await home.runtime().createSandbox(SMALL);
    const file = join(home.path, "context.txt");
    writeFileSync(file, "the text");
    await sandbox.initialize({ file });
    rmSync(file);
    await end(daemon, "SIGKILL");
    await home.start();
    const reason = expect.stringMatching(
      /daemon.*context could not be loaded again: the context file/,
    );
    const told = await sandbox.execute("'context' in globals()");
    expect(told).toMatchObject({ status: "ok", state: { survived: false, reason } });
    expect(told.result?.["text/plain"]).toBe("False");
    expect((await sandbox.execute("1")).state.survived).toBe(true);
  });

  check("aborts the questions that it had asked", async (home) => {
    const daemon = await home.start();
    let heard: AbortSignal | undefined;
    const sandbox = await home.runtime().createSandbox({
      ...SMALL,
      onLLMQuery: (_, { signal }) => {
        heard = signal;
        return new Promise(() => {});
      },
    });
    const running = sandbox.execute("llm_query('x')");
    await until(() => heard !== undefined);
    await end(daemon, "SIGKILL");
    expect((await running).status).toBe("crashed");
    expect(heard?.aborted).toBe(true);
  });

  check("in order tells its clients what became of their cells", async (home) => {
    await home.start();
    const sandbox = await home.runtime().createSandbox({ ...SMALL, timeout: 600_000 });
    const running = sandbox.execute("while True: pass");
    await sleep(200);
    const link = await DaemonConnection.open(home.address);
    await link.request("daemon_stop", {});
    expect(await running).toMatchObject({ status: "crashed", state: { survived: false } });
    await link.closed;
    expect(existsSync(home.address.path)).toBe(false);
  });
});

describe("a daemon on demand", () => {
  check("is started by the client, and leaves when nobody is there", async (home) => {
    const script = `
      import { createSandbox } from ${JSON.stringify(fileURLToPath(new URL("index.js", DIST)))};
      const sandbox = await createSandbox({ backend: "daemon", preload: "none" });
      console.log(JSON.stringify(sandbox.info));
      await sandbox.destroy();`;
    const env = { ...home.environment, CELLAR_DAEMON_IDLE: "300" };
    const run = () => spawn(process.execPath, ["--input-type=module", "-e", script], { env });
    const client = run();
    const [said] = (await once(client.stdout, "data")) as [Buffer];
    const info = JSON.parse(said.toString());
    expect(info.backend).toBe("daemon");
    expect(info.reason).toContain(`answered at ${home.address.path}`);
    // It has no more to do, and the daemon does not hold it.
    await once(client, "exit");
    expect(client.exitCode).toBe(0);
    await until(() => !existsSync(home.address.path));
  });
});

/** Something that greets like a daemon of another version. */
async function startForeigner(home: DaemonHome, greeting: object): Promise<AsyncDisposable> {
  mkdirSync(dirname(home.address.path), { mode: 0o700 });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    new Peer(socket).serve("daemon_greet", async () => ({
      protocol: PROTOCOL_VERSION,
      version: packageVersion(),
      pid: 4711,
      ...greeting,
    }));
  });
  const mask = process.umask(0o177);
  await new Promise<void>((resolve) => server.listen(home.address.path, resolve));
  process.umask(mask);
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a daemon of another version", () => {
  it.each([
    ["the version", { version: "9.9.9" }, /is version 9\.9\.9 .* but this client is version \d/],
    ["the protocol", { protocol: 99 }, /protocol 99, .* protocol 1/],
  ])("is refused with both sides named: %s", async (_, greeting, message) => {
    await using home = new DaemonHome();
    await using _foreigner = await startForeigner(home, greeting);
    await expect(home.runtime().createSandbox({}, { starts: true })).rejects.toMatchObject({
      code: "DAEMON_UNAVAILABLE",
      message: expect.stringMatching(message),
      remedy: expect.stringContaining("cellar daemon stop"),
    });
  });

  it("does not serve a client that says it is another", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using home = new DaemonHome();
    await home.start();
    const link = await DaemonConnection.open(home.address);
    await link.request("daemon_greet", { protocol: PROTOCOL_VERSION, version: "0.0.0" });
    const refused = link.request("daemon_status", { settled: false });
    await expect(refused).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
    link.close();
  });
});

describe("auto", () => {
  const original = process.env.HOME;
  let home: DaemonHome;

  beforeAll(() => {
    home = new DaemonHome();
    process.env.HOME = home.path;
  });

  afterAll(async () => {
    process.env.HOME = original;
    await shutdown();
    await home[Symbol.asyncDispose]();
  });

  it("takes the daemon when it runs, else native, and says why", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    const bare = { preload: "none", poolSize: 0 } as const;
    const before = await createSandbox(bare);
    expect(before.info).toMatchObject({ backend: "native" });
    expect(before.info.reason).toMatch(/^no daemon is running; /);
    const daemon = await home.start();
    const during = await createSandbox(bare);
    expect(during.info.backend).toBe("daemon");
    expect(during.info.reason).toContain(`pid ${daemon.pid}, version ${packageVersion()}`);
    expect((await during.fork()).info.backend).toBe("daemon");
    const own = await createSandbox({ ...bare, backend: "native" });
    expect(own.info.backend).toBe("native");
    await end(daemon, "SIGKILL");
    const after = await createSandbox(bare);
    expect(after.info).toMatchObject({ backend: "native" });
    await expect(createSandbox({ ...bare, minIsolation: "L4" })).rejects.toMatchObject({
      code: "SANDBOX_UNAVAILABLE",
    });
    for (const sandbox of [before, own, after]) await sandbox.destroy();
  });

  it("does without a daemon of another version, and says so", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using other = new DaemonHome();
    process.env.HOME = other.path;
    await shutdown();
    await using _foreigner = await startForeigner(other, { version: "9.9.9" });
    await using sandbox = await createSandbox({ preload: "none", poolSize: 0 });
    expect(sandbox.info.backend).toBe("native");
    expect(sandbox.info.reason).toMatch(/^not the daemon: .*9\.9\.9/);
  });

  it("refuses a backend that there is not, naming those that are", async () => {
    const wrong = createSandbox({ backend: "docker" as "native" });
    await expect(wrong).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      remedy: expect.stringContaining("native, daemon, pyodide"),
    });
  });
});
