import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DaemonAddress, daemonAddress } from "../../backends/daemon/address.js";
import { livePid } from "../../backends/daemon/pid-file.js";
import { claimSocket, isTaken } from "./socket-claim.js";

let home: string;
let address: DaemonAddress;
const servers: Server[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "ch-"));
  address = daemonAddress(home);
});

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 10 });
});

/** A server that tells everybody who it is. */
function namedServer(name: string): Server {
  const server = createServer((socket) => {
    // Who only looks whether somebody is there goes away at once.
    socket.on("error", () => {});
    socket.end(name);
  });
  servers.push(server);
  return server;
}

function whoAnswers(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: address.path });
    socket.on("data", (name) => resolve(name.toString()));
    socket.on("error", reject);
  });
}

/** A socket of which the listener is gone. */
async function leaveDeadSocket(): Promise<void> {
  mkdirSync(dirname(address.path), { mode: 0o700, recursive: true });
  const other = join(home, "other.sock");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(other, resolve));
  linkSync(other, address.path);
  chmodSync(address.path, 0o600);
  await new Promise((resolve) => server.close(resolve));
}

describe("a berth", () => {
  it.each([
    ["where none is", async () => {}],
    ["over a dead socket", leaveDeadSocket],
  ])("is had by exactly one of many at once, %s", async (_, prepare) => {
    await prepare();
    const names = Array.from({ length: 10 }, (_, index) => `server ${index}`);
    const attempts = await Promise.allSettled(
      names.map((name) => claimSocket(namedServer(name), address)),
    );
    const winners = names.filter((_, index) => attempts[index]?.status === "fulfilled");
    expect(winners).toEqual([await whoAnswers()]);
    const losses = attempts.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(losses.map(isTaken)).toEqual(losses.map(() => true));
    expect(readdirSync(dirname(address.path))).toEqual(["daemon.pid", "daemon.sock"]);
  });

  it("is given up for the next one, and only by who has it", async () => {
    const berth = await claimSocket(namedServer("first"), address);
    rmSync(address.path);
    await claimSocket(namedServer("second"), address);
    berth[Symbol.dispose]();
    expect(await whoAnswers()).toBe("second");
    expect(readdirSync(dirname(address.path))).toContain("daemon.pid");
  });

  it("tells the process that has it, to this user alone and over whatever lay there", async () => {
    const folder = dirname(address.path);
    const victim = join(home, "victim");
    writeFileSync(victim, "untouched");
    mkdirSync(folder, { mode: 0o700 });
    symlinkSync(victim, join(folder, "daemon.pid"));
    await claimSocket(namedServer("first"), address);
    expect(livePid(address)).toBe(process.pid);
    expect(statSync(join(folder, "daemon.pid")).mode & 0o777).toBe(0o600);
    expect(readFileSync(victim, "utf8")).toBe("untouched");
  });

  it("is had even where the process cannot be noted", async () => {
    mkdirSync(join(dirname(address.path), "daemon.pid", "full"), { recursive: true, mode: 0o700 });
    await claimSocket(namedServer("first"), address);
    expect(await whoAnswers()).toBe("first");
    expect(livePid(address)).toBeUndefined();
    expect(readdirSync(join(dirname(address.path), "daemon.pid"))).toEqual(["full"]);
  });

  it.each(["", "0", "-1", "1e99", "nobody", String(2 ** 30)])(
    "tells no process for %j",
    (noted) => {
      mkdirSync(dirname(address.path), { mode: 0o700 });
      writeFileSync(join(dirname(address.path), "daemon.pid"), noted);
      expect(livePid(address)).toBeUndefined();
    },
  );

  it("leaves nothing behind when it is given up", async () => {
    const berth = await claimSocket(namedServer("first"), address);
    berth[Symbol.dispose]();
    expect(existsSync(address.path)).toBe(false);
    expect(readdirSync(dirname(address.path))).toEqual([]);
  });
});
