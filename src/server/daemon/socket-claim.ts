import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Server } from "node:net";
import { join } from "node:path";
import {
  type DaemonAddress,
  hasSocket,
  prepareFolder,
  refused,
} from "../../backends/daemon/address.js";
import { removePid, writePid } from "../../backends/daemon/pid-file.js";
import { CellarError, describeError } from "../../errors.js";

const ATTEMPTS = 20;
const PAUSE_MS = 100;

/** Lets a server listen at the address. Of several that try at once exactly one succeeds. */
export async function claimSocket(server: Server, address: DaemonAddress): Promise<Disposable> {
  const { path, folder } = address;
  if (folder === undefined) {
    await listen(server, path);
    return { [Symbol.dispose]: () => {} };
  }
  prepareFolder(address);
  // Not longer than the final name, whose length was checked.
  const own = join(folder, `.d${randomBytes(4).toString("hex")}`);
  await listen(server, own);
  try {
    chmodSync(own, 0o600);
    await placeSocket(own, address, folder);
    writePid(folder);
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
  const { ino } = lstatSync(path);
  return {
    [Symbol.dispose]: () => {
      if (lstatSync(path, { throwIfNoEntry: false })?.ino !== ino) return;
      // While the socket exists, no other daemon has written its pid.
      removePid(folder);
      rmSync(path, { force: true });
    },
  };
}

async function placeSocket(own: string, address: DaemonAddress, folder: string): Promise<void> {
  const { path } = address;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (placed(() => linkSync(own, path))) return;
    if (!hasSocket(address)) continue;
    const stale = identity(path);
    if (stale === undefined) continue;
    if (await accepts(path)) throw taken(path);
    // Only the process that creates this file may replace the dead socket.
    const claim = join(folder, `.stale-${stale}`);
    if (placed(() => writeFileSync(claim, `${process.pid}\n`, { flag: "wx", mode: 0o600 }))) {
      try {
        // Another one may have had the claim before, and have made use of it.
        if (identity(path) !== stale) continue;
        renameSync(own, path);
        return;
      } finally {
        rmSync(claim, { force: true });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  throw refused(
    `${path} has no daemon behind it and could not be replaced`,
    `Remove ${folder} and try again.`,
  );
}

function identity(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.ino}-${stats.ctimeNs}`;
}

/** False when something of that name is there already. */
function placed(make: () => void): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? taken(path)
          : refused(`cannot create a socket: ${describeError(error)}`),
      );
    };
    server.once("error", fail);
    // The folder is private; the mode is a second lock, in force from the first moment.
    const mask = process.umask(0o177);
    server.listen({ path, backlog: 511 }, () => {
      server.off("error", fail);
      resolve();
    });
    process.umask(mask);
  });
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT");
    });
  });
}

/** Whether another daemon was first. */
export function isTaken(error: unknown): boolean {
  return error instanceof CellarError && error.details.cause === "taken";
}

function taken(path: string): CellarError {
  return new CellarError("DAEMON_UNAVAILABLE", `a daemon is already running at ${path}`, {
    remedy: "Use it, or end it with cellar daemon stop.",
    details: { cause: "taken" },
  });
}
