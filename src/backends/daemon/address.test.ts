import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DaemonHome } from "../../../test/support/daemon-home.js";
import { daemonAddress } from "./address.js";
import { DaemonConnection } from "./connection.js";

const STRANGER = 1_900_000_002;
const isRoot = process.getuid?.() === 0;

let home: DaemonHome;
let folder: string;
const servers: Server[] = [];

beforeEach(() => {
  home = new DaemonHome();
  folder = join(home.path, ".rlm");
});

afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  await home[Symbol.asyncDispose]();
});

/** A socket that somebody else put there, and that answers. */
async function plant(path: string): Promise<void> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  chmodSync(path, 0o600);
}

/** What a client and a daemon that starts say to what lies there. */
async function refusals(): Promise<unknown[]> {
  const client = await DaemonConnection.open(home.address).catch((error: unknown) => error);
  const daemon = await home.start();
  const said = daemon.stdout?.read() as Buffer | null;
  return [client, daemon.exitCode ?? (await exitCode(daemon)), said];
}

function exitCode(child: Awaited<ReturnType<DaemonHome["start"]>>): Promise<number | null> {
  return child.exitCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once("exit", resolve));
}

async function expectRefusal(message: RegExp, remedy: RegExp): Promise<void> {
  const [client, code] = await refusals();
  expect(client).toMatchObject({
    code: "DAEMON_UNAVAILABLE",
    message: expect.stringMatching(message),
    remedy: expect.stringMatching(remedy),
  });
  expect(code).toBe(1);
}

describe("the daemon's address", () => {
  it("is that of the specification", () => {
    expect(daemonAddress("/home/a", "linux").path).toBe("/home/a/.rlm/daemon.sock");
    expect(daemonAddress("/Users/a", "darwin").path).toBe("/Users/a/.rlm/daemon.sock");
    expect(daemonAddress("C:\\a", "win32").path).toBe("\\\\.\\pipe\\rlm-daemon");
  });

  it("is made for the user alone", async () => {
    await home.start();
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
    const stats = lstatSync(home.address.path);
    expect([stats.isSocket(), stats.mode & 0o777]).toEqual([true, 0o600]);
  });

  it("is refused in a folder that others may enter", async () => {
    mkdirSync(folder, { mode: 0o755 });
    await plant(home.address.path);
    await expectRefusal(/open to other users/, /chmod 700/);
  });

  it("is refused when the folder is a link", async () => {
    const elsewhere = join(home.path, "elsewhere");
    mkdirSync(elsewhere, { mode: 0o700 });
    symlinkSync(elsewhere, folder);
    await plant(home.address.path);
    await expectRefusal(/is not a folder/, /remove/);
  });

  it("is refused when the socket is a link", async () => {
    mkdirSync(folder, { mode: 0o700 });
    const planted = join(home.path, "planted.sock");
    await plant(planted);
    symlinkSync(planted, home.address.path);
    await expectRefusal(/is not a socket/, /rm /);
  });

  it("is refused when it is a file", async () => {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(home.address.path, "");
    await expectRefusal(/is not a socket/, /rm /);
  });

  it("is refused when the socket is open to others", async () => {
    mkdirSync(folder, { mode: 0o700 });
    await plant(home.address.path);
    chmodSync(home.address.path, 0o666);
    await expectRefusal(/open to other users/, /chmod 600/);
  });

  it("is refused when the socket belongs to somebody else", async ({ skip }) => {
    if (!isRoot) skip("only root can give files away");
    mkdirSync(folder, { mode: 0o700 });
    await plant(home.address.path);
    chownSync(home.address.path, STRANGER, STRANGER);
    await expectRefusal(/belongs to uid 1900000002/, /rm /);
  });

  it("is refused when the folder belongs to somebody else", async ({ skip }) => {
    if (!isRoot) skip("only root can give files away");
    mkdirSync(folder, { mode: 0o700 });
    await plant(home.address.path);
    chownSync(folder, STRANGER, STRANGER);
    await expectRefusal(/belongs to uid 1900000002/, /HOME/);
  });

  it("is refused when it is longer than a socket's path may be", async () => {
    const long = daemonAddress(join(home.path, "x".repeat(100)));
    const { prepareFolder } = await import("./address.js");
    expect(() => prepareFolder(long)).toThrowError(/at most 107/);
  });

  it("is replaced when nobody answers there any more", async () => {
    const first = await home.start();
    first.kill("SIGKILL");
    await exitCode(first);
    const stale = lstatSync(home.address.path).ino;
    const second = await home.start();
    expect(lstatSync(home.address.path).ino).not.toBe(stale);
    const link = await DaemonConnection.open(home.address);
    expect(link.daemon.pid).toBe(second.pid);
    link.close();
  });

  it("is taken by exactly one of many that start at once, over a dead one too", async () => {
    for (const round of ["none there", "a dead one there"]) {
      const started = await Promise.all(Array.from({ length: 6 }, () => home.start()));
      const link = await DaemonConnection.open(home.address);
      const { pid } = link.daemon;
      link.close();
      const losers = started.filter((child) => child.pid !== pid);
      expect([round, losers.length]).toEqual([round, 5]);
      expect(await Promise.all(losers.map(exitCode))).toEqual([0, 0, 0, 0, 0]);
      const winner = started.find((child) => child.pid === pid);
      winner?.kill("SIGKILL");
      if (winner !== undefined) await exitCode(winner);
    }
  });

  it("is left without a trace by a daemon that ends in order", async () => {
    const daemon = await home.start();
    daemon.kill("SIGTERM");
    expect(await exitCode(daemon)).toBe(0);
    expect(lstatSync(home.address.path, { throwIfNoEntry: false })).toBeUndefined();
    rmSync(folder, { recursive: true });
  });
});
