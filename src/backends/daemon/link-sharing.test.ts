import { mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { DaemonHome, SMALL, until } from "../../../test/support/daemon-home.js";
import { openNativeRuntime } from "../../../test/support/native-runtime.js";
import { packageVersion } from "../../config/environment.js";
import { PROTOCOL_VERSION } from "../../protocol/bounds.js";
import { Peer } from "../../protocol/peer.js";
import { DaemonConnection } from "./connection.js";

const { runtime: probed, unavailable } = await openNativeRuntime();
await probed[Symbol.asyncDispose]();

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a process's link to the daemon", () => {
  it("is one for all who want it at once, and takes their sessions along", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using home = new DaemonHome();
    await home.start("--keep");
    const runtime = home.runtime();
    const create = () => runtime.createSandbox(SMALL);
    await Promise.all([create(), create(), create()]);
    // The second client is the one that asks.
    expect(await home.status()).toMatchObject({ clients: 2, sessions: 3 });
    await runtime[Symbol.asyncDispose]();
    await until(async () => (await home.status()).clients === 1);
    expect((await home.status()).sessions).toBe(0);
  });

  it("is one again for all who find it lost", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using home = new DaemonHome();
    const first = await home.start("--keep");
    const runtime = home.runtime();
    const create = () => runtime.createSandbox(SMALL);
    const sandboxes = await Promise.all([create(), create(), create()]);
    const ended = new Promise((resolve) => first.once("exit", resolve));
    first.kill("SIGKILL");
    await ended;
    await expect(create()).rejects.toMatchObject({ details: { cause: "absent" } });
    await home.start("--keep");
    await Promise.all(sandboxes.map((sandbox) => sandbox.execute("1")));
    expect(await home.status()).toMatchObject({ clients: 2, sessions: 3 });
  });
});

/** Listens at the home's address and never says a word. */
async function startMute(home: DaemonHome) {
  mkdirSync(dirname(home.address.path), { mode: 0o700 });
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    sockets.push(socket.resume());
  });
  const mask = process.umask(0o177);
  await new Promise<void>((resolve) => server.listen(home.address.path, resolve));
  process.umask(mask);
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { server, sockets, close, [Symbol.asyncDispose]: close };
}

/** Greets, and does nothing more. */
async function startDeaf(home: DaemonHome) {
  const mute = await startMute(home);
  const greeting = { protocol: PROTOCOL_VERSION, version: packageVersion(), pid: process.pid };
  mute.server.on("connection", (socket: Socket) => {
    const peer = new Peer(socket);
    peer.serve("daemon_greet", async () => greeting);
    for (const method of ["daemon_status", "session_variables"] as const) {
      peer.serve(method, () => new Promise(() => {}));
    }
  });
  return mute;
}

describe("a daemon that hangs", () => {
  it("is named with its process", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using home = new DaemonHome();
    const daemon = await home.start();
    daemon.kill("SIGSTOP");
    try {
      await expect(DaemonConnection.open(home.address, { anyVersion: true })).rejects.toMatchObject(
        {
          code: "DAEMON_UNAVAILABLE",
          remedy: expect.stringContaining(`kill -KILL ${daemon.pid}`),
          details: { cause: "silent", pid: daemon.pid },
        },
      );
    } finally {
      daemon.kill("SIGCONT");
    }
  });

  it("keeps nobody waiting who had reached it before it hung", async () => {
    await using home = new DaemonHome();
    await using _daemon = await startDeaf(home);
    const link = await DaemonConnection.open(home.address);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const lost = { code: "SESSION_LOST", details: { reason: "daemon" } };
    const asked = link.request("session_variables", { session: "x" });
    const told = expect(asked).rejects.toMatchObject(lost);
    await vi.advanceTimersByTimeAsync(120_000);
    await told;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is waited for once by all, and again after a while", async () => {
    await using home = new DaemonHome();
    await using mute = await startMute(home);
    const runtime = home.runtime();
    const silent = { code: "DAEMON_UNAVAILABLE", details: { cause: "silent" } };
    const create = () => expect(runtime.createSandbox()).rejects.toMatchObject(silent);
    await Promise.all([create(), create(), create()]);
    await create();
    expect(mute.sockets.length).toBe(1);
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now + 31_000);
    const later = runtime.createSandbox();
    const failed = expect(later).rejects.toMatchObject({ details: { cause: "unreachable" } });
    await until(() => mute.sockets.length === 2);
    mute.sockets[1]?.destroy();
    await failed;
  });

  it("is tried at once by who insists on it", async (context) => {
    if (unavailable !== undefined) context.skip(unavailable);
    await using home = new DaemonHome();
    const runtime = home.runtime();
    const mute = await startMute(home);
    await expect(runtime.createSandbox(SMALL)).rejects.toMatchObject({
      details: { cause: "silent" },
    });
    await mute.close();
    await home.start();
    await expect(runtime.createSandbox(SMALL)).rejects.toMatchObject({
      details: { cause: "silent" },
    });
    expect((await runtime.createSandbox(SMALL, { starts: true })).info.backend).toBe("daemon");
    expect((await runtime.createSandbox(SMALL)).info.backend).toBe("daemon");
  });
});
